"""Draws insights from a stream of events, with evidence, when enough has happened."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from mesa_memory.core.embedding import Embedded, EmbedRequest
from mesa_memory.core.flow import FAULTS, first_fault, gather
from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.requests import Flow
from mesa_memory.core.snapshot import RecordLookup
from mesa_memory.core.validate import number
from mesa_memory.memories.entry import Entry
from mesa_memory.memories.recalling import Recalling, RecallResult
from mesa_memory.memories.reflection import THRESHOLD, Reflection
from mesa_memory.tasks import QUESTIONS, REFLECT

KIND = "reflection"

#: an insight, and the records that it rests on
type Drawn = tuple[str, list[MemoryRecord]]


class Reflecting(Recalling):
    """A memory whose events, once they matter enough together, are reflected on.

    Attributes:
        reflection: how; None never.
        reflect_threshold: importance that the events since the last reflection must
            have together.
    """

    reflection: Reflection | None = None
    reflect_threshold = THRESHOLD
    _gathered = 0.0  # importance of the events since the last reflection
    _open_questions: list[str | None]  # of a reflection under way; None asks nothing

    def __new__(cls, *args: object, **kwargs: object) -> "Reflecting":
        """See ``MemoryModule``."""
        self = super().__new__(cls, *args, **kwargs)
        self._open_questions = []
        return self

    def _reflect_as(self, plan: Reflection | None, threshold: float | None) -> None:
        """Sets how and when to reflect; a threshold alone means the direct form."""
        if not isinstance(plan, Reflection | None):
            raise TypeError(
                f"reflection must be a Reflection or None, got {plan!r}; make one with "
                "Reflection.direct() or Reflection.questions()"
            )
        if threshold is not None:
            number("reflect_threshold", threshold, above=True)
            self.reflect_threshold = threshold
            plan = plan or Reflection.direct()
        self.reflection = plan

    def snapshot(self) -> dict[str, Any]:
        """See ``MemoryModule``; how far the next reflection is."""
        reflecting = {"gathered": self._gathered, "open": list(self._open_questions)}
        return super().snapshot() | reflecting

    def restore(self, snapshot: Mapping[str, Any], shelf: RecordLookup) -> None:
        """See ``MemoryModule``."""
        super().restore(snapshot, shelf)
        self._gathered = snapshot["gathered"]
        self._open_questions = list(snapshot["open"])

    def _gather(self, event: MemoryRecord) -> None:
        """Counts an event's grade; insights do not call for more insights."""
        if event.kind != KIND and event.importance is not None:
            self._gathered += event.importance

    def _due(self) -> bool:
        """True if a reflection is due, or one under way is not finished."""
        if self.reflection is None:
            return False
        return bool(self._open_questions) or self._gathered >= self.reflect_threshold

    def _reflect(self) -> Flow[None]:
        """One reflection; what fails stays due, what was found is kept.

        Raises:
            LLMError, EmbedderError: the first fault, after the other questions were answered.
        """
        plan = self.reflection
        assert plan is not None
        self._take_in()
        newest = self._statements()[-plan.last :]
        if not self._open_questions and newest:
            self._open_questions = yield from self._ask_questions(plan, newest)
        if not newest:  # the user has emptied the stream
            self._open_questions = []
        questions = list(self._open_questions)
        vectors = yield from self._embed_questions(questions)
        shown = [
            newest if question is None else self._bring_to_mind(question, vector)
            for question, vector in zip(questions, vectors, strict=True)
        ]
        flows = [self._infer(plan, *asked) for asked in zip(questions, shown)]
        outcomes = yield from gather(flows)
        for question, outcome in zip(questions, outcomes, strict=True):
            if not isinstance(outcome, FAULTS):
                self._keep_insights(outcome)
                self._open_questions.remove(question)
        if fault := first_fault(outcomes):
            raise fault
        self._gathered = 0.0

    def _statements(self) -> list[MemoryRecord]:
        """What may be evidence, oldest first."""
        events = [e.events[0] for e in self._kept() if isinstance(e, Entry)]
        return [event for event in events if not self._too_deep(event)]

    def _too_deep(self, record: MemoryRecord) -> bool:
        return self.reflection is not None and _depth(record) >= (
            self.reflection.max_depth
        )

    def _ask_questions(
        self, plan: Reflection, newest: Sequence[MemoryRecord]
    ) -> Flow[list[str | None]]:
        if not plan.asked:
            return [None]
        lines = self._lines(newest)
        return (yield from self.ask(QUESTIONS, lines=lines, count=plan.asked))

    def _instant(self) -> bool:
        thinks = self.reflection is not None
        return super()._instant() and (not thinks or self._asks_instantly())

    def _embed_questions(
        self, questions: Sequence[str | None]
    ) -> Flow[list[tuple[object, str] | None]]:
        """Of each question its vector and who made it, all in one request."""
        texts = tuple(question for question in questions if question is not None)
        if not texts:
            return [None for _ in questions]
        request = EmbedRequest(texts, self.agent.unique_id, self._now())
        found: Embedded = yield request
        return [(vector, found.source) for vector in found.vectors]

    def _bring_to_mind(
        self, question: str, vector: tuple[object, str] | None
    ) -> list[MemoryRecord]:
        """What a question recalls, oldest first."""
        assert self.reflection is not None
        row, source = vector or (None, "")
        deep = [r for r in map(self._record_of, self._kept()) if self._too_deep(r)]
        strange = [self._record_of(e) for e in self._kept() if not isinstance(e, Entry)]
        scoring = self.scoring or self._usual(True)
        found = self._index.recall(
            question,
            self.reflection.per_question,
            vector=row,
            source=source,
            scoring=scoring,
            now=self._now(),
            without=[*deep, *strange],
        )
        self._note_recall("reflect", RecallResult(question, scoring, found))
        return sorted((r.record for r in found), key=lambda record: record.step)

    def _infer(
        self,
        plan: Reflection,
        question: str | None,
        shown: Sequence[MemoryRecord],
    ) -> Flow[list[Drawn]]:
        insights = yield from self.ask(
            REFLECT,
            lines=self._lines(shown),
            count=plan.insights,
            question=question,
        )
        return [(text, [shown[p] for p in places]) for text, places in insights]

    def _lines(self, records: Sequence[MemoryRecord]) -> list[str]:
        return [self._text_of(self._entry_of[record.id]) for record in records]

    def _keep_insights(self, found: Sequence[Drawn]) -> None:
        """Adds insights to the stream; one that is known already adds nothing."""
        known = {r.content["text"] for r in self._statements() if _depth(r)}
        now = self._now()
        for text, evidence in found:
            if text in known:
                continue
            known.add(text)
            depth = 1 + max(map(_depth, evidence))
            content = {"text": text, "depth": depth}
            sources = tuple(record.id for record in evidence)
            record = self._open(KIND, now, content, sources=sources)
            self._admit([(now, [record])])

    @abstractmethod
    def _admit(self, groups: Sequence) -> None:
        """Takes up what came, or was found, at each step."""


def _depth(record: MemoryRecord) -> int:
    """0 for an event, 1 for an insight from events, and so on.

    An event that somebody else calls a reflection has no evidence and is an event.
    """
    return record.content["depth"] if record.kind == KIND and record.sources else 0
