"""The changes in a run since its last finished step.

Noting a change is one append, made by the simulation's thread: no object is made that
Python's garbage collector would have to look through. The rows that say so are made
later, by the thread that writes them; see ``step_batch``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.requests import LLMRequest, Reply
from mesa_memory.retrieval.index import ScoredRecord
from mesa_memory.retrieval.scoring import Scoring


@dataclass(slots=True)
class Changes:
    """All changes, each list in order."""

    opened: list[MemoryRecord] = field(default_factory=list)
    graded: list[tuple[str, float]] = field(default_factory=list)
    closed: list[MemoryRecord] = field(default_factory=list)
    staled: list[tuple[str, float]] = field(default_factory=list)
    embedded: list[tuple[Sequence[str], Any, str]] = field(default_factory=list)
    recalls: list["Recall"] = field(default_factory=list)
    prompts: list[tuple[tuple[int, ...], dict]] = field(default_factory=list)
    calls: list["Call"] = field(default_factory=list)
    interventions: list[dict] = field(default_factory=list)
    answers: list[tuple[str, Any]] = field(default_factory=list)
    vectors: list[tuple[str, Any]] = field(default_factory=list)
    agents: list[dict] = field(default_factory=list)
    measures: list[dict] = field(default_factory=list)
    responses: list[dict] = field(default_factory=list)
    scenes: list[dict] = field(default_factory=list)

    def __bool__(self) -> bool:
        """True if anything was noted."""
        return any(getattr(self, name) for name in self.__slots__)

    @property
    def lasting(self) -> bool:
        """True if a memory has changed."""
        return bool(
            self.opened
            or self.graded
            or self.closed
            or self.staled
            or self.interventions
        )


@dataclass(frozen=True, slots=True)
class Recall:
    """The records that a recall found.

    Attributes:
        place: its order among all changes.
        whose: ``agent``, ``layer``, ``step`` and ``purpose``.
        found: best first.
        shown: whether the reader's budget let a record through.
        note: a remark for readers; empty without one.
    """

    place: tuple[int, ...]
    whose: Mapping[str, Any]
    query: str | None
    scoring: Scoring
    found: Sequence[ScoredRecord]
    shown: Callable[[ScoredRecord], bool]
    note: str = ""


@dataclass(slots=True)
class Call:
    """A request and its reply or error.

    Attributes:
        turn: its order among all requests, however long each took.
        reply: None if there was an error.
        replayed: True if the answer came from a recorded run.
        occurrence: 1 for the agent's first request of this purpose at this step; known
            when the step is handed over.
    """

    request: LLMRequest
    turn: tuple[int, ...]
    reply: Reply | None
    error: BaseException | None
    replayed: bool = False
    occurrence: int = 0
