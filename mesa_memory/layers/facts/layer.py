"""An agent's knowledge as facts, each with its evidence and its speakers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from mesa_memory.core import render
from mesa_memory.core.inbox import unreplaced
from mesa_memory.core.records import (
    BY_HAND,
    DERIVED,
    EVICTED,
    REFUSED,
    SUPERSEDED,
    MemoryRecord,
)  # fmt: skip
from mesa_memory.core.requests import Flow
from mesa_memory.core.snapshot import RecordLookup
from mesa_memory.core.text.vocabulary import vocabulary
from mesa_memory.errors import BadReply
from mesa_memory.layers.base import Layer
from mesa_memory.layers.facts.reading import MAX_EVENTS, FactReader, Reading, Stated
from mesa_memory.layers.facts.shown import FactLines
from mesa_memory.layers.facts.statement import KIND, FactStatement, bare, is_fact
from mesa_memory.layers.facts.table import FactTable, table_of
from mesa_memory.layers.facts.values import extent
from mesa_memory.layers.lines import Line, StepEvents
from mesa_memory.layers.view import StepView, ask_about, askable
from mesa_memory.tasks.extract import GATE
from mesa_memory.tasks.offline.attributes import canonical

UNREAD_WARNING = (
    "%s: the model's replies to a request for facts were unusable %s times in a row. The "
    "memory continues without these facts; the events stay verbatim as long as all others "
    "do. This warning appears once per run."
)
#: so much of its evidence goes on from one record of a fact to the next
MAX_EARLIER_SOURCES = 20
#: an unread event that has ended so is not read any more
_GONE = (*BY_HAND, SUPERSEDED)


class Facts(Layer):
    """Facts that events state: subject, attribute and value, speakers and step.

    One request a step names the facts of its events, and the known facts that they end.
    Code decides what is newer, by the steps of the events. Two speakers with different
    values make two facts. A judge is asked only if it is unclear whether two names mean
    the same attribute, or two values the same.

    Args:
        most: how many facts to keep, the strongest and newest; None keeps all.
        gate: what a statement must be to be kept, of ``extract.GATE``; what is refused
            is recorded, and closed at once.
        summarised: True keeps a summary of three to five sentences, too.
        lines: how facts are shown.

    Attributes:
        table: the facts.
        reader: finds what events state.
        unread: events that are not read yet, oldest first.
        brief: the summary's record; None before the first.
    """

    name, volatility = "facts", 0.4
    state = ("unread", "brief", "_refused", "_given_up")
    restored = ("table",)

    def __init__(
        self,
        most: int | None = None,
        gate: Sequence[str] = GATE,
        summarised: bool = False,
        lines: FactLines | None = None,
    ) -> None:
        self.most, self.summarised = most, summarised
        self.reader, self.lines = FactReader(gate), lines or FactLines()
        self.reader.lines = self.lines
        self.unread: list[MemoryRecord] = []
        self.brief: MemoryRecord | None = None
        self._refused = self._given_up = 0  # unusable replies in a row, and what of it
        self._know(FactTable())

    # -- as a layer ---------------------------------------------------------------------

    def admit(
        self, view: StepView, step: float, events: Sequence[MemoryRecord]
    ) -> None:
        """Takes note of events, which wait to be read; see ``Layer``."""
        self.unread += unreplaced(events, view.journal.additive_event_types)
        for who in self.reader.resolver.meet(events):
            self._introduce(view, who)

    def remember(self, view: StepView) -> Flow[None]:
        """Reads all events, in as many requests as needed; failed ones stay unread."""
        self.unread = self.waiting()
        while self.unread:
            try:
                yield from self._read_on(view)
            except BadReply:
                self._refused += 1
                limit = view.services.failures_allowed
                if self._refused < limit or limit == 1:
                    raise
                self._give_up(view)
        yield from self.lines.embed(view)

    def _read_on(self, view: StepView) -> Flow[None]:
        """Reads events up to one request's size; after an unusable reply one alone."""
        events = self.unread[: 1 if self._refused else MAX_EVENTS]
        reading = yield from ask_about(view, events, partial(self._read, view))
        self.unread = askable(view, self.unread)
        if reading is None:
            return  # a content filter refuses all of them
        statements = yield from self.reader.statements(view, reading)
        self._take_up(view, reading, statements)
        self._refused = self._given_up = 0

    def _read(self, view: StepView, events: Sequence[MemoryRecord]) -> Flow[Reading]:
        brief = str(self.brief.content["text"]) if self.brief else ""
        return self.reader.read(view, events, brief if self.summarised else None)

    def _give_up(self, view: StepView) -> None:
        """Continues without unreadable events, with one warning per run.

        One is dropped, then twice as many each time, so that they do not all stay due
        with a model that fails always.
        """
        del self.unread[: 2**self._given_up]
        self._given_up += 1
        self._refused = 0
        whose = view.names(view.agent.unique_id)
        tries = view.services.failures_allowed
        view.services.say_once(UNREAD_WARNING, whose, str(tries))

    def recent(self, view: StepView) -> list[Line]:
        """The events that are not read yet: until then their words are in sight."""
        return [self.line(view, event) for event in self.waiting()]

    def summary(self, view: StepView) -> list[Line]:
        """The summary, if there is one, and the facts."""
        return [*self.brief_lines(view), *self.lines.shown(view)]

    def records(self) -> Iterator[MemoryRecord]:
        """The facts, the summary and the unread events."""
        yield from self.table.current()
        yield from super().records()

    def edited(self, record: MemoryRecord, content: dict[str, Any]) -> dict[str, Any]:
        """A fact's text follows from its other fields, unless it was edited itself."""
        if not is_fact(record) or content["text"] != record.content["text"]:
            return content
        statement = FactStatement.of_content(content, record.subject, record.step)
        return content | {"text": statement.text(self.memory.view().wording)}

    def history(self) -> Iterator[MemoryRecord]:
        """All facts, ended ones included."""
        yield from self.table.records()

    def snapshot(self) -> dict[str, Any]:
        """The names and counts of its reader; the facts are records."""
        return {
            "met": list(self.reader.resolver.met),
            "counts": [self.reader.judged, self.reader.stated],
            "meant": [[*aspect, word] for aspect, word in self.reader.meant.items()],
        }

    def restore(self, snapshot: Mapping[str, Any], shelf: RecordLookup) -> None:
        """Takes up a snapshot; the facts are on the shelf."""
        self.reader.resolver.met = dict.fromkeys(snapshot["met"])
        self.reader.judged, self.reader.stated = snapshot["counts"]
        self.reader.meant = {(*aspect,): word for *aspect, word in snapshot["meant"]}
        self._know(table_of(shelf), self.memory.view())

    # -- what is read -------------------------------------------------------------------

    def waiting(self) -> list[MemoryRecord]:
        """The unread events, without those since taken out by hand."""
        return [event for event in self.unread if event.closed_because not in _GONE]

    def has_read(self, step: StepEvents) -> bool:
        """True if no event of a window's step is unread."""
        return set(self.unread).isdisjoint(step.events)

    def brief_lines(self, view: StepView) -> list[Line]:
        """The summary on one line, if there is one."""
        if self.brief is None:
            return []
        text = render.shorten(
            str(self.brief.content["text"]), view.limits.section_chars
        )
        return [Line(render.one_line(text), (self.brief,))]

    def past(
        self, view: StepView, subject: Any, attribute: str
    ) -> list[tuple[MemoryRecord, float | None]]:
        """All values of an attribute, and until when each held; see ``FactTable.past``.

        Args:
            subject: an agent, a unique id or a name.
        """
        names = view.names
        subject = names.unique_id(subject)
        text = subject if isinstance(subject, str) else names(subject)
        who = self.reader.resolver.find(view, text)
        keys = [bare(text if who is None else names.name(who)), ("agent", who)]
        name = canonical(attribute)
        topics = [topic for key in keys for topic in self.table.topics_of(key, name)]
        found = [pair for topic in topics for pair in self.table.past(topic)]
        return sorted(found, key=lambda pair: self.table.of(pair[0]).since)

    @property
    def _me(self) -> Any:
        """The unique id of the agent that remembers."""
        return self.memory.agent.unique_id

    def _know(self, table: FactTable, view: StepView | None = None) -> None:
        self.table = self.reader.table = table
        self.lines.show(table, view)

    # -- taking up ----------------------------------------------------------------------

    def _take_up(
        self, view: StepView, reading: Reading, statements: Sequence[Stated]
    ) -> None:
        """Puts the statements into the table, by the steps of their events.

        Statements that end known facts come first: a repeated one beside them is sound.
        """
        # A fact does not rest on what the same reply ends, in whatever order, nor on
        # another value of its own topic.
        over = {
            r.id for each in statements for r in self._ends(view, each, reading.known)
        }
        topics = {r.id: self.table.of(r).topic[:2] for r in reading.known}
        by_step = sorted(statements, key=lambda each: each.statement.since)
        for each in sorted(
            by_step, key=lambda each: not self.reader.ended_by(view, each)
        ):
            self.reader.stated += 1
            own = each.statement.topic[:2]
            rests_on = [
                r for r in each.cited if r.id not in over and topics[r.id] != own
            ]
            if self.reader.passes(view, each):
                ended = self.reader.ended_by(view, each)
                sources = [*rests_on, *each.events]
                self._add(view, each.statement, sources, ended, each.repeats)
            else:
                refused = self._open(view, each.statement, [*rests_on, *each.events])
                self.close(view, refused, REFUSED)
        self.reader.note_read(view, len(reading.events))
        del self.unread[: len(reading.events)]
        self._forget(view)
        if reading.found.summary is not None:
            content = {"text": render.one_line(reading.found.summary)}
            sources = [*reading.events, *self.table.current()]
            self.brief = self.revise(view, self.brief, "summary", content, sources)

    def _ends(
        self, view: StepView, stated: Stated, known: Sequence[MemoryRecord]
    ) -> list[MemoryRecord]:
        """The known facts that a statement of the reply ends."""
        if not self.reader.passes(view, stated):
            return []
        statement, cited = stated.statement, self.reader.ended_by(view, stated)
        same = [r for r in known if self.table.of(r).topic == statement.topic]
        return cited + [r for r in same if statement.ends(self.table.of(r), self._me)]

    def _introduce(self, view: StepView, who: Any) -> None:
        """Moves the facts about a name to the agent that has the name."""
        name = view.names.name(who)
        if not name or self.reader.resolver.find(view, name) != who:
            return
        for record in self.table.of_subject(bare(name)):
            known, label = self.table.of(record), view.names(who)
            self.table.remove(record)
            new = self._add(view, replace(known, subject=label, about=who), [record])
            if record.stale_since is not None:
                view.journal.mark_stale(new, record.stale_since)
            view.supersede(record, new, same=True)

    def _add(
        self,
        view: StepView,
        statement: FactStatement,
        sources: Sequence[MemoryRecord],
        cited: Sequence[MemoryRecord] = (),
        repeats: MemoryRecord | None = None,
    ) -> MemoryRecord:
        """Takes up a statement: a repetition, a newer value, an older one, or a conflict.

        Args:
            cited: the facts that it names and ends.
            repeats: the fact that it says again in other words, if that still holds.
        """
        known, said = self.table.of_topic(statement.topic), self.table.of
        same = [r for r in known if said(r).says == statement.says]
        repeats = None if same or repeats not in known else repeats
        if repeats and self._is_one(view, statement, said(repeats)):
            same.append(repeats)
        others = [record for record in known if record not in same]
        ended = [
            r for r in others if r is not repeats and statement.ends(said(r), self._me)
        ]
        ended += [r for r in cited if r.current and r not in ended]
        later = [] if same else self._later(view, statement, others)
        statement = self._compared(statement, [said(r) for r in ended])
        if same:
            new = self._strengthen(view, same[0], statement, sources)
        else:
            new = self._open(view, statement, [*ended, *sources])
            self.table.add(new, statement)
        for record in ended:
            self._take_back(view, record, statement)
            view.supersede(record, new)
        for record in others:
            if record.current:
                self._withdraw(view, record, statement)
        if later and not ended:  # it came late
            view.supersede(new, later[0])
        elif ended and not statement.holds:  # all that it says is that they have ended
            self.close(view, new, EVICTED)
        return new

    def _is_one(
        self, view: StepView, statement: FactStatement, known: FactStatement
    ) -> bool:
        """True if two statements that say the same make one fact.

        Of one that says more than the agent has seen, they do not: both stand.
        """
        less, more = sorted(
            (known, statement), key=lambda each: self._extent(view, each.value)
        )
        return more.seen or self._me in more.speakers or not less.seen

    def _extent(self, view: StepView, value: str) -> tuple[int, int]:
        return extent(value, vocabulary(view.wording.language))

    def _later(
        self, view: StepView, statement: FactStatement, others: Sequence[MemoryRecord]
    ) -> list[MemoryRecord]:
        """The facts that had ended a statement before it was read."""
        if statement.since < view.now:  # it may have come late
            others = self.table.ever(statement.topic)
        return [r for r in others if self.table.of(r).ends(statement, self._me)]

    def _compared(
        self, statement: FactStatement, ended: Sequence[FactStatement]
    ) -> FactStatement:
        """A changed value with the one before it."""
        values = [each for each in ended if each.holds]
        if not (statement.changed and statement.holds and values):
            return statement
        return replace(statement, before=(values[-1].value, values[-1].since))

    def _take_back(
        self, view: StepView, record: MemoryRecord, statement: FactStatement
    ) -> None:
        """Marks all that a speaker has said in words that it now takes back.

        A fact that held until now is over, and was not a lie.
        """
        known, speakers = self.table.of(record), set(statement.speakers)
        over = statement.holds or statement.changed or self._me in speakers
        if over or speakers.isdisjoint(known.speakers):
            return
        words = set(record.sources)
        for other in self.table.current():
            said = set(self.table.of(other).speakers)
            same = bool(other.sources) and words.issuperset(other.sources)
            if same and said and said <= speakers and other is not record:
                view.journal.doubt(other, view.now)

    def _strengthen(
        self,
        view: StepView,
        record: MemoryRecord,
        statement: FactStatement,
        sources: Sequence[MemoryRecord],
    ) -> MemoryRecord:
        """A fact was stated again, perhaps by another speaker.

        Of two values that say the same, the one that says more stays.
        """
        known = self.table.of(record)
        stronger = replace(
            known,
            value=max(known.value, statement.value, key=partial(self._extent, view)),
            speakers=tuple(dict.fromkeys([*known.speakers, *statement.speakers])),
            changed=known.changed or statement.changed,
            before=statement.before or known.before,
            since=min(known.since, statement.since),
            last=max(known.last, statement.last),
            strength=known.strength + statement.strength,
            gate=statement.gate,
        )
        return self._renew(view, record, stronger, sources)

    def _withdraw(
        self, view: StepView, record: MemoryRecord, statement: FactStatement
    ) -> None:
        """Takes speakers away from a fact that they now contradict."""
        known = self.table.of(record)
        left = tuple(who for who in known.speakers if who not in statement.speakers)
        if statement.since < known.since or not statement.contradicts(known):
            return
        if left and left != known.speakers:
            self._renew(view, record, replace(known, speakers=left), ())

    def _renew(
        self,
        view: StepView,
        record: MemoryRecord,
        statement: FactStatement,
        sources: Sequence[MemoryRecord],
    ) -> MemoryRecord:
        """Puts a fact that says the same in a fact's place."""
        new = self._open(
            view, statement, [record, *sources], record.sources[-MAX_EARLIER_SOURCES:]
        )
        if not sources and record.stale_since is not None:
            view.journal.mark_stale(new, record.stale_since)
        view.supersede(record, new, same=True)
        if statement.says == self.table.of(record).says:
            self.table.remove(record)
        self.table.add(new, statement)
        return new

    def _open(
        self,
        view: StepView,
        statement: FactStatement,
        sources: Sequence[MemoryRecord],
        earlier: Iterable[str] = (),
    ) -> MemoryRecord:
        """A record of a statement.

        Args:
            earlier: ids of the evidence it had before.
        """
        ids = dict.fromkeys([*earlier, *(source.id for source in sources)])
        own = {"subject": statement.about, "origin": DERIVED, "sources": tuple(ids)}
        content = statement.content(view.wording)
        return view.open(KIND, content, part=self.part, **own)

    def _forget(self, view: StepView) -> None:
        """Closes surplus facts: hearsay before witnessed facts, by speaker in turn."""
        for record in self.table.surplus(self.most):
            self.close(view, record, EVICTED)
