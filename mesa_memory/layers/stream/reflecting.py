"""Draws insights from a stream of events, with evidence, when enough has happened."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from mesa_memory.core.records import DERIVED, MemoryRecord, Part
from mesa_memory.core.requests import (
    FAULTS,
    Embedded,
    EmbedRequest,
    Flow,
    first_fault,
    gather,
)
from mesa_memory.core.validate import checked_int, checked_number
from mesa_memory.layers.context import LayerContext
from mesa_memory.layers.entry import Entry
from mesa_memory.layers.filtering import ask_about
from mesa_memory.layers.stream.recalling import RecallResult, Recollection
from mesa_memory.tasks import QUESTIONS, REFLECT

KIND = "reflection"

#: the doubt about an insight without evidence
UNFOUNDED_DOUBT = "it shares no word with the statements it cites"

#: an insight, and the records that it rests on
type Drawn = tuple[str, list[MemoryRecord]]


#: importance that makes a reflection due, if nothing else is said
REFLECTION_THRESHOLD = 30.0


@dataclass(frozen=True)
class Reflection:
    """Settings of reflection; made by ``direct`` or ``questions``.

    Attributes:
        last: how many of the newest records are looked at.
        insights: the most that are kept of each question.
        asked: questions to be asked first; 0 reflects on the newest records as such.
        per_question: how many records are recalled for a question.
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

        One request for the questions and one for each of them, at the same time.

        Args:
            questions: how many to ask.
            per_question: how many records to recall for each.
            insights: the most of each question.
            last: how many of the newest records the questions are made from.
            max_depth: see ``Reflection``.
        """
        checked_int("questions", questions)
        return cls(last, insights, questions, per_question, max_depth)


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

    context: LayerContext
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
        self.part: Part | None = None  #: the stream's, if other layers think beside it
        # Questions under way; None asks nothing.
        self._open: list[str | None] = []

    def snapshot(self) -> dict[str, Any]:
        """The progress towards the next reflection."""
        return {"gathered": self.gathered, "open": list(self._open)}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Takes up a snapshot."""
        self.gathered = snapshot["gathered"]
        self._open = list(snapshot["open"])

    def due(self) -> bool:
        """True if a reflection is due, or one under way is not finished."""
        if self.plan is None:
            return False
        return bool(self._open) or self.gathered >= self.threshold

    def reflect(
        self,
        keep: Callable[[dict[str, Any], Sequence[MemoryRecord]], MemoryRecord],
        let_go: Callable[[MemoryRecord], None],
    ) -> Flow[None]:
        """One reflection; failed parts stay due, results are kept.

        Insights that rest on something that does not hold any more are dropped then.

        Args:
            keep: is given each insight's content and evidence; one that is known
                already is left out.
            let_go: is given an insight that does not hold any more.

        Raises:
            LLMError, EmbedderError: the first fault, after the other questions were
                answered.
        """
        plan = self.plan
        assert plan is not None
        self.recollection.index.refresh()
        newest = self._statements(plan.last)
        if not self._open and newest:
            self._open = yield from self._ask_questions(plan, newest)
        if not newest:  # the user has emptied the stream
            self._open = []
        questions = list(self._open)
        if texts := tuple(filter(None, questions)):
            agent, now = self.context.agent.unique_id, self.context.now
            found: Embedded = yield EmbedRequest(texts, agent, now)
            shown = [
                self._bring_to_mind(text, vector, found.source)
                for text, vector in zip(texts, found.vectors, strict=True)
            ]
        else:
            shown = [newest for _ in questions]
        flows = [
            self._infer(plan, question, records)
            for question, records in zip(questions, shown, strict=True)
        ]
        outcomes = yield from gather(flows)
        for question, outcome in zip(questions, outcomes, strict=True):
            if not isinstance(outcome, FAULTS):
                self._keep(outcome, keep, plan.max_depth)
                self._open.remove(question)
        if fault := first_fault(outcomes):
            raise fault
        for insight in self._insights():
            if insight.stale_since is not None:
                let_go(insight)
        self.gathered = 0.0

    def _statements(self, last: int) -> list[MemoryRecord]:
        """The newest records that may be evidence, oldest first."""
        held = self.recollection.index.held
        events = (e.events[0] for e in reversed(held) if isinstance(e, Entry))
        found = (event for event in events if not self._is_no_evidence(event))
        return list(islice(found, last))[::-1]

    def _insights(self) -> list[MemoryRecord]:
        """The insights in the stream, oldest first."""
        index = self.recollection.index
        index.align()
        return [record for record in index.ranking.of_kind(KIND) if _depth(record)]

    def _is_no_evidence(self, record: MemoryRecord) -> bool:
        """True for an insight that no other may rest on: a deep one, or a stale one."""
        deep = self.plan is not None and _depth(record) >= self.plan.max_depth
        filtered = record.id in self.context.filtered
        return deep or filtered or record.stale_since is not None

    def _ask_questions(
        self, plan: Reflection, newest: Sequence[MemoryRecord]
    ) -> Flow[list[str | None]]:
        if not plan.asked:
            return [None]

        def ask(shown: Sequence[MemoryRecord]) -> Flow[list[str | None]]:
            lines = self._lines(shown)
            return self.context.ask(QUESTIONS, lines=lines, count=plan.asked)

        return (yield from ask_about(self.context, newest, ask)) or []

    def _bring_to_mind(
        self, question: str, vector: Any, source: str
    ) -> list[MemoryRecord]:
        """The records that a question recalls, oldest first."""
        assert self.plan is not None
        index = self.recollection.index
        deep = [each for each in self._insights() if self._is_no_evidence(each)]
        scoring = self.recollection.scoring_of(question)
        found = index.ranking.recall(
            question,
            self.plan.per_question,
            vector=vector,
            source=source,
            scoring=scoring,
            now=self.context.now,
            without=[*deep, *index.strangers()],
        )
        recalled = RecallResult(question, scoring, found, part=self.part)
        self.context.runtime.note_recall("reflect", recalled)
        return sorted((r.record for r in found), key=lambda record: record.step)

    def _infer(
        self, plan: Reflection, question: str | None, shown: Sequence[MemoryRecord]
    ) -> Flow[list[Drawn]]:
        def ask(records: Sequence[MemoryRecord]) -> Flow[list[Drawn]]:
            insights = yield from self.context.ask(
                REFLECT,
                lines=self._lines(records),
                count=plan.insights,
                question=question,
            )
            return [(text, [records[p] for p in places]) for text, places in insights]

        return (yield from ask_about(self.context, shown, ask)) or []

    def _lines(self, records: Sequence[MemoryRecord]) -> list[str]:
        return [self.recollection.index.told(record) for record in records]

    def _keep(
        self, found: Sequence[Drawn], keep: Callable[..., MemoryRecord], max_depth: int
    ) -> None:
        """Hands on what is not known already; nothing may rest on the unfounded."""
        usable = [r for r in self._insights() if not self._is_no_evidence(r)]
        known = {record.content["text"] for record in usable}
        for text, evidence in found:
            if text not in known:
                known.add(text)
                depth = 1 + max(map(_depth, evidence), default=max_depth - 1)
                doubt = {} if evidence else {"doubtful": UNFOUNDED_DOUBT}
                keep({"text": text, "depth": depth, **doubt}, evidence)


def _depth(record: MemoryRecord) -> int:
    """0 for an event, 1 for an insight from events, and so on.

    An event that someone else calls a reflection is an event.
    """
    insight = record.kind == KIND and record.origin == DERIVED
    return record.content["depth"] if insight else 0
