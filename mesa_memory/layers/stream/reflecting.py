"""Draws insights from a stream of events, with evidence, when enough has happened."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from mesa_memory.core import render
from mesa_memory.core.records import DERIVED, MemoryRecord, Part
from mesa_memory.core.requests import Embedded, EmbedRequest, Flow
from mesa_memory.core.statement import statement
from mesa_memory.core.validate import checked_int, checked_number
from mesa_memory.layers.lines import Line, folded_for
from mesa_memory.layers.stream.recalling import RecallResult, Recollection
from mesa_memory.layers.view import StepView, ask_about
from mesa_memory.retrieval.index import ScoredRecord
from mesa_memory.tasks.reflect import QUESTIONS, REFLECT, Drawn

KIND = "reflection"

#: the doubt about an insight without evidence
UNFOUNDED_DOUBT = "none of the statements it cites supports it"
#: of the places for a question, insights have at most one in so many
PLACES_PER_INSIGHT = 3
#: importance that makes a reflection due, if nothing else is said
REFLECTION_THRESHOLD = 30.0


@dataclass(frozen=True)
class Reflection:
    """Settings of reflection; made by ``direct`` or ``questions``.

    Attributes:
        last: how many of the newest records are looked at.
        insights: the most that are kept of each question.
        asked: questions to be asked first; 0 reflects on the newest records as such.
        per_question: how many records are recalled for a question; half as many of the
            newest events are shown with them.
        max_depth: insights from events have depth 1, insights from those have depth 2,
            and so on up to ``max_depth``.

    Raises:
        ValueError: for a number below 1 (``asked``, ``per_question``: below 0).
    """

    last: int = 20
    insights: int = 3
    asked: int = 0
    per_question: int = 0
    max_depth: int = 3

    def __post_init__(self) -> None:
        for name in ("last", "insights", "max_depth"):
            checked_int(name, getattr(self, name))
        for name in ("asked", "per_question"):
            checked_int(name, getattr(self, name), least=1 if self.asked else 0)

    @classmethod
    def direct(
        cls, last: int = 20, insights: int = 3, max_depth: int = 3
    ) -> "Reflection":
        """Insights from the newest records: one request."""
        return cls(last, insights, max_depth=max_depth)

    @classmethod
    def questions(
        cls,
        questions: int = 3,
        per_question: int = 10,
        insights: int = 5,
        last: int = 100,
        max_depth: int = 3,
    ) -> "Reflection":
        """The paper's form: questions first, then a recall for each.

        One request for the questions, and one for the insights of all of them.

        Args:
            questions: how many to ask.
            per_question: how many records to recall for each.
            insights: the most of each question.
            last: how many of the newest records the questions are made from.
            max_depth: see ``Reflection``.
        """
        checked_int("questions", questions)
        return cls(last, insights, questions, per_question, max_depth)


#: what a request has brought: new insights, and those withdrawn
type Reply = tuple[list[Drawn[MemoryRecord]], list[MemoryRecord]]


class Reflector:
    """Reflects on events once they matter enough together.

    Args:
        plan: how; None never.
        threshold: importance that the events since the last reflection must have
            together. Alone, it means ``Reflection.direct()``.

    Raises:
        TypeError: if the plan is not a ``Reflection``.
        ValueError: if the threshold is not above 0.
    """

    recollection: Recollection  #: of the stream

    def __init__(self, plan: Reflection | None, threshold: float | None = None) -> None:
        if not isinstance(plan, Reflection | None):
            raise TypeError(
                f"reflection must be a Reflection or None, got {plan!r}; make one with "
                "Reflection.direct() or Reflection.questions()"
            )
        self.threshold = REFLECTION_THRESHOLD
        if threshold is not None:
            self.threshold = checked_number("reflect_threshold", threshold, above=True)
            plan = plan or Reflection.direct()
        self.plan = plan
        self.gathered = 0.0  #: importance of the events since the last reflection
        self.arrived = 0  #: number of events since the last reflection
        self.part: Part | None = None  #: the stream's, if other layers think beside it
        self._open: list[str] = []  # questions under way

    def snapshot(self) -> dict[str, Any]:
        """The progress towards the next reflection."""
        progress = {"gathered": self.gathered, "arrived": self.arrived}
        return {**progress, "open": list(self._open)}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Takes up a snapshot."""
        self.gathered, self.arrived = snapshot["gathered"], snapshot["arrived"]
        self._open = list(snapshot["open"])

    def due(self) -> bool:
        """True if a reflection is due, or one under way is not finished."""
        return self.plan is not None and self.gathered >= self.threshold

    def reflect(self, view: StepView, top: int) -> Flow[Reply]:
        """One reflection; after a failure the questions stay and are not asked again.

        Args:
            top: the highest importance; 0 does not ask for it.

        Raises:
            LLMError, EmbedderError: if a request failed.
        """
        plan = self.plan
        assert plan is not None
        self.recollection.index.refresh(view)
        shown = self._newest(view, plan)
        if plan.asked and shown and not self._open:
            self._open = yield from self._ask_questions(view, plan, shown)
        reply: Reply = [], []
        if self._open and shown:
            shown = yield from self._bring_to_mind(view, plan, self._open)
        if shown and (self._open or not plan.asked):
            reply = yield from self._infer(view, plan, shown, top)
        self._open, self.gathered, self.arrived = [], 0.0, 0
        return reply

    def insights(self, view: StepView) -> list[MemoryRecord]:
        """The insights in the stream, oldest first."""
        index = self.recollection.index
        index.align(view)
        return [record for record in index.ranking.of_kind(KIND) if _depth(record)]

    def content_of(
        self, drawn: Drawn[MemoryRecord]
    ) -> tuple[dict[str, Any], list[MemoryRecord]]:
        """The content of an insight's record, and its evidence.

        A replaced insight is not evidence, and neither is one without evidence.
        """
        assert self.plan is not None
        most = self.plan.max_depth
        evidence = [
            record
            for record in drawn.evidence
            if record not in drawn.revises and _depth(record) < most
        ]
        depth = 1 + max(map(_depth, evidence), default=most - 1)
        doubt = {} if evidence else {"doubtful": UNFOUNDED_DOUBT}
        return {"text": drawn.text, "depth": depth, **doubt}, evidence

    # -- what is shown --------------------------------------------------------------

    def _events(self, view: StepView) -> Iterable[MemoryRecord]:
        """The events that may be evidence, newest first."""
        for event in reversed(self.recollection.index.held):
            if not _depth(event) and event.id not in view.journal.filtered:
                yield event

    def _held(self, view: StepView) -> list[MemoryRecord]:
        """The insights that may be replaced, oldest first."""
        return [
            record
            for record in self.insights(view)
            if record.stale_since is None and record.id not in view.journal.filtered
        ]

    def _newest(self, view: StepView, plan: Reflection) -> list[MemoryRecord]:
        """The newest records, oldest first; at most half of them are insights."""
        events, held = list(islice(self._events(view), plan.last)), self._held(view)
        insights = held[max(0, len(held) - plan.last // 2) :]
        newest = _in_order([*events, *insights])[-plan.last :]
        return newest if any(not _depth(record) for record in newest) else []

    def _bring_to_mind(
        self, view: StepView, plan: Reflection, questions: Sequence[str]
    ) -> Flow[list[MemoryRecord]]:
        """The newest events, and the records that the questions recall, oldest first."""
        agent, now = view.agent.unique_id, view.now
        asked: Embedded = yield EmbedRequest(tuple(questions), agent, now)
        count = min(self.arrived, len(questions) * plan.per_question // 2)
        newest = list(islice(self._events(view), count))
        shown = {record.id: record for record in newest}
        for question, vector in zip(questions, asked.vectors, strict=True):
            given = {"vector": vector, "source": asked.source}
            found = self._recalled(view, question, newest, **given)
            shown |= {each.record.id: each.record for each in found}
        return _in_order(shown.values())

    def _recalled(
        self,
        view: StepView,
        question: str,
        newest: Sequence[MemoryRecord],
        **vector: Any,
    ) -> list[ScoredRecord]:
        """The insights and the older events that a question recalls, best first."""
        assert self.plan is not None
        index, most = self.recollection.index, self.plan.per_question
        scoring, now = self.recollection.scoring_of(question), view.now

        def recall(count: int, **filters: Any) -> list[ScoredRecord]:
            asked = {"scoring": scoring, "now": now, **vector, **filters}
            return index.ranking.recall(question, count, **asked)

        every, held = index.ranking.of_kind(KIND), {r.id for r in self._held(view)}
        others = [record for record in every if record.id not in held]
        found = recall(most // PLACES_PER_INSIGHT, kinds=[KIND], without=others)
        without = [*filter(_depth, every), *newest]
        found += recall(most - len(found), without=without)
        found.sort(key=lambda each: -each.score)
        ranked = [each._replace(rank=rank) for rank, each in enumerate(found, 1)]
        note = f"beside the newest events since the last reflection: {len(newest)}"
        recalled = RecallResult(question, scoring, ranked, note, self.part)
        view.note_recall("reflect", recalled)
        return ranked

    # -- requests -------------------------------------------------------------------

    def _ask_questions(
        self, view: StepView, plan: Reflection, newest: Sequence[MemoryRecord]
    ) -> Flow[list[str]]:
        def ask(shown: Sequence[MemoryRecord]) -> Flow[list[str]]:
            told, held = self._lines(view, shown)
            asked = {
                "lines": [text for text, _ in told],
                "held": held,
                "count": plan.asked,
            }
            return view.ask(QUESTIONS, **asked)

        return (yield from ask_about(view, newest, ask)) or []

    def _infer(
        self, view: StepView, plan: Reflection, shown: Sequence[MemoryRecord], top: int
    ) -> Flow[Reply]:
        def ask(records: Sequence[MemoryRecord]) -> Flow[Reply]:
            told, held = self._lines(view, records)
            lines = [text for text, _ in told]
            given = {"count": plan.insights, "questions": self._open, "top": top}
            found, gone = yield from view.ask(REFLECT, lines=lines, held=held, **given)
            # In the order of their numbers: events, then insights.
            insights = [record for record in records if _depth(record)]
            numbered = [*(of for _, of in told), *((each,) for each in insights)]

            def named(places: Iterable[int]) -> list[MemoryRecord]:
                return [record for place in places for record in numbered[place]]

            drawn = [
                Drawn(d.text, named(d.evidence), d.importance, named(d.revises))
                for d in found
            ]
            return drawn, named(gone)

        return (yield from ask_about(view, shown, ask)) or ([], [])

    def _lines(
        self, view: StepView, records: Sequence[MemoryRecord]
    ) -> tuple[list[tuple[str, tuple[MemoryRecord, ...]]], list[str]]:
        """The events as lines, each with what it tells of, and the insights."""

        def told(step: Any, text: str) -> str:
            return render.at_step(step, text, view.wording)

        events = [
            Line(view.line(each), (each,), each.step, each.kind, said=statement(each))
            for each in records
            if not _depth(each)
        ]
        held = [told(each.step, view.line(each)) for each in records if _depth(each)]
        return [
            (told(line.step, line.text), line.records)
            for line in folded_for(view, events, voice=view.voice)
        ], held


def _in_order(records: Iterable[MemoryRecord]) -> list[MemoryRecord]:
    """Records as they happened, also within a step."""
    return sorted(records, key=lambda record: (record.step, record.order))


def _depth(record: MemoryRecord) -> int:
    """0 for an event, 1 for an insight from events, and so on.

    An event that someone else calls a reflection is an event.
    """
    insight = record.kind == KIND and record.origin == DERIVED
    return record.content["depth"] if insight else 0
