"""The recorder's interface to memories and services."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from mesa_memory.core.records import MemoryRecord, Observer, Part
from mesa_memory.core.requests import LLMRequest, Reply


class RunRecorder(Observer, Protocol):
    """Writes a run into a store; told of every request, recall and text of a memory."""

    def met(self, memory: Any) -> None:
        """A memory is going to be used; its agent may be gone at the end of the step."""

    def embedded(
        self, records: Sequence[MemoryRecord], vectors: Any, source: str
    ) -> None:
        """Records got their embeddings, shape (records, dim), of this embedder."""

    def recalled(
        self,
        whose: Mapping[str, Any],
        query: str | None,
        scoring: Any,
        found: Sequence[Any],
        note: str,
        shown: Callable[[Any], bool],
        commit_order: int | None = None,
        part: Part | None = None,
    ) -> None:
        """Records came to mind."""

    def shown(
        self,
        whose: Mapping[str, Any],
        section: str,
        text: str,
        budget: Mapping[str, Any] | None = None,
    ) -> None:
        """An agent was shown this text of its memory, within this budget if it has one."""

    def began(self, request: LLMRequest) -> tuple[int, ...]:
        """A request is about to be answered; its turn among all requests."""

    def called(
        self,
        request: LLMRequest,
        turn: tuple[int, ...],
        reply: Reply | None,
        error: BaseException | None,
        replayed: bool,
        live: bool = False,
    ) -> None:
        """A request was answered, or failed.

        Args:
            replayed: a recorded run answered.
            live: a model was asked that takes its time, and may want to be paid.
        """

    def paid_before(self, request: LLMRequest) -> Reply | None:
        """The answer in a step that did not finish; None if it did not ask."""

    def published(self, values: Mapping[str, Any]) -> None:
        """Answers that hold for many agents were found; None gives one up."""

    def vectors(self, name: str, vectors: Mapping[str, Any]) -> None:
        """An embedder gave vectors for texts."""

    def intervened(self, agent: Any, step: float, kind: str, detail: dict) -> None:
        """A researcher changed a memory by hand."""

    def measured(self, rows: Iterable[dict[str, Any]]) -> None:
        """Measurements of the model; rows of the table ``measures``."""

    def responded(self, rows: Iterable[dict[str, Any]]) -> None:
        """Agents' answers to a questionnaire; rows of the table ``responses``."""

    def checkpoint(self) -> None:
        """Makes sure that the run can go on from the end of its last finished step."""

    def close(self, state: str | None = None) -> None:
        """Writes what is left and ends the run; again does nothing."""
