"""Facts as lines: all while they are few, then the most relevant ones."""

from collections.abc import Sequence
from typing import Any

from mesa_memory.core import render
from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.requests import Embedded, EmbedRequest, Flow
from mesa_memory.errors import EmbedderError
from mesa_memory.layers.facts.table import FactTable
from mesa_memory.layers.lines import Line
from mesa_memory.layers.stream.indexing import EmbeddedIndex
from mesa_memory.layers.stream.recalling import RecallResult, Recollection
from mesa_memory.layers.view import StepView
from mesa_memory.retrieval.index import ScoredRecord
from mesa_memory.retrieval.scoring import Scoring

#: the highest importance; a fact has one more than how often it was stated
MAX_IMPORTANCE = 5
#: most values of a conflict on its line
MAX_VALUES = 4
#: how many facts are looked for beside an event
MAX_NEAREST = 8
#: a search that leaves no trace
_UNNOTICED = Scoring(refresh="off")


class FactLines(EmbeddedIndex):
    """The current facts of one memory, and their lines.

    Values that cannot all hold stand on one line.

    Args:
        direct_tokens: as long as all facts are not longer, all are shown.
        considered: how many are recalled if they are.

    Attributes:
        recollection: ranks them.
    """

    table: FactTable

    def __init__(self, direct_tokens: int = 2000, considered: int = 20) -> None:
        super().__init__()
        self.direct_tokens = direct_tokens
        self.recollection = Recollection(considered)
        self.recollection.index = self  # type: ignore[assignment]
        self.recollection.ungraded = list

    def show(self, table: FactTable, view: StepView | None = None) -> None:
        """Uses these facts from now on.

        Args:
            view: vectors that are elsewhere are asked for again.
        """
        self.table = table
        self.clear()
        if view is not None and not view.services.embeds_here:
            self.align(view)
            self.embed_now(view)

    # -- as lines -----------------------------------------------------------------------

    def shown(self, view: StepView) -> list[Line]:
        """The lines of a prompt."""
        lines = self.of_groups(view, self.table.groups())
        if self._tokens(lines) <= self.direct_tokens:
            return lines
        found = self.find(view, None, None)
        chosen = self._with_room(view, found)
        view.note_recall("prompt", found, lambda each: each.record.id in chosen)
        groups = self.table.groups()
        kept = [g for g in groups if any(record.id in chosen for record in g)]
        left_out = sum(map(len, groups)) - sum(map(len, kept))
        notes = [view.told("unsure")] * found.weak
        notes.append(view.told("left out weaker facts", count=left_out))
        return [*map(Line, notes), *self.of_groups(view, kept)]

    def find(
        self, view: StepView, query: str | None, count: int | None
    ) -> RecallResult:
        """The facts that are recalled, best first; see ``Recollection.find``."""
        self.refresh(view)
        return self.recollection.find(view, query, count)

    def of_groups(
        self, view: StepView, groups: Sequence[Sequence[MemoryRecord]]
    ) -> list[Line]:
        """A line for each fact, and one for all that disagree."""
        lines = []
        for group in groups:
            if self.table.disagree(group):
                lines.append(self._line(view, group))
            else:
                lines += [self._line(view, [record]) for record in group]
        return lines

    def text(self, view: StepView, record: MemoryRecord) -> str:
        """A fact on one line, with its speakers and steps."""
        return self.table.of(record).about_what + self._value(view, record)

    def _value(self, view: StepView, record: MemoryRecord) -> str:
        """The value of a fact, with its speakers and steps."""
        statement = self.table.of(record)
        me, told = view.agent.unique_id, view.told
        names = [view.names(w) for w in statement.speakers if w not in (None, me)]
        value = statement.said(view.wording)
        text = render.one_line(render.shorten(value, view.limits.event_chars))
        if statement.before:
            before, since = map(render.value_text, statement.before)
            text = told("changed", text=text, before=before, since=since)
        line = told(
            "fact",
            text=text,
            seen=statement.seen,
            own=me in statement.speakers,
            who=", ".join(names),
            quoting=statement.quoting or "",
            since=render.value_text(statement.since),
            last=render.value_text(statement.last),
            strength=statement.strength,
        )
        return render.one_line(line)

    def _line(self, view: StepView, records: Sequence[MemoryRecord]) -> Line:
        """A fact, or some that cannot all hold: those seen, and those stated last."""
        newest = sorted(records, key=self._newest)[-MAX_VALUES:]
        shown = tuple(record for record in records if record in newest)
        text = self.text(view, shown[0])
        if len(shown) > 1:
            text = view.told(
                "facts that disagree",
                lines=[text, *(self._value(view, each) for each in shown[1:])],
                disputed=self.table.disputed(records),
                count=len(records) - len(shown),
            )
        rank = float(max(map(self._strength, records)))
        return Line(text, shown, rank=rank, wording=view.wording)

    def _newest(self, record: MemoryRecord) -> tuple[Any, ...]:
        """A key that is highest for a fact seen, then for the one stated last."""
        statement = self.table.of(record)
        return statement.seen, statement.last, record.order

    # -- what comes to mind ---------------------------------------------------------------

    def _with_room(self, view: StepView, found: RecallResult) -> set[str]:
        """Ids of the best that the budget has room for, at least one."""
        chosen: set[str] = set()
        used = 0
        for record in (each.record for each in found.records):
            used += render.count_tokens(self.text(view, record))
            if used > self.direct_tokens and chosen:
                break
            chosen.add(record.id)
        return chosen

    def _strength(self, record: MemoryRecord) -> float:
        """The weight of a fact; a stale fact weighs least."""
        if record.stale_since is not None:
            return 0.0
        return self.table.of(record).strength

    def _tokens(self, lines: Sequence[Line]) -> int:
        return sum(render.count_tokens(line.text) for line in lines)

    # -- as an index ---------------------------------------------------------------------

    def clear(self) -> None:
        """Starts anew; the index is filled again at the next recall."""
        super().clear()
        self._held: dict[str, tuple[MemoryRecord, float]] = {}

    def align(self, view: StepView) -> None:
        """Brings the index in line with the facts."""
        self.set_language(view)
        # In order of making, as neighbours count: also in an index that is filled anew.
        made = sorted(self.table.current(), key=lambda record: record.order)
        present = {record.id: record for record in made}
        for key in self._held.keys() - present.keys():
            self.ranking.remove(self._held.pop(key)[0])
        for key, record in present.items():
            strength = max(1.0, min(1 + self._strength(record), MAX_IMPORTANCE))
            known = self._held.get(key)
            if known is None:
                self.ranking.add(record, self.embedded_text(view, record))
            if known is None or known[1] != strength:
                self.ranking.grade(record, strength)
                self._held[key] = record, strength

    def embed(self, view: StepView) -> Flow[None]:
        """Embeds new facts, all in one request, where that takes a while."""
        if not view.services.embeds_here:
            self.align(view)
            yield from self.request_embeddings(view, self.ranking.lacking())

    def embedded_text(self, view: StepView, record: MemoryRecord) -> str:
        """See ``EmbeddedIndex``."""
        return render.one_line(self.table.of(record).text(view.wording))

    def nearest(
        self, view: StepView, texts: Sequence[str]
    ) -> Flow[list[list[MemoryRecord]]]:
        """The facts nearest in words and meaning to each text, best first."""
        self.align(view)
        found: list[list[MemoryRecord]] = [[] for _ in texts]
        if not len(self.ranking):
            return found
        asked = yield from self._vectors(view, texts)
        for place, text in enumerate(texts):
            vector = {} if asked is None else {
                "vector": asked.vectors[place], "source": asked.source
            }  # fmt: skip
            best = self.ranking.recall(
                text, MAX_NEAREST, scoring=_UNNOTICED, now=view.now, **vector
            )
            found[place] = [each.record for each in best if _fits(each)]
        return found

    def _vectors(self, view: StepView, texts: Sequence[str]) -> Flow[Embedded | None]:
        """The embeddings of texts; None if they cannot be had now."""
        if view.services.embeds_here:
            self.embed_now(view)
            return view.services.embed(texts)
        agent, now = view.agent.unique_id, view.now
        try:
            return (yield EmbedRequest(tuple(texts), agent, now))
        except EmbedderError as error:
            if not error.passing:
                raise
            return None


def _fits(found: ScoredRecord) -> bool:
    """True if a fact shares a word with a text, or has its meaning."""
    return found.parts["lexical"] > 0 or found.parts["dense"] > 0
