"""Recalls earlier conversations for the current dialogue."""

from collections.abc import Sequence
from typing import Protocol

from mesa_memory.core.records import MemoryRecord
from mesa_memory.layers.stream.recalling import Recollection
from mesa_memory.retrieval.scoring import Scoring

#: number of lines of dialogue that bring earlier conversations to mind
QUERY_LINES = 3


class Talks(Protocol):
    """Knows what is being said."""

    def spoken(self) -> Sequence[MemoryRecord]:
        """The newest messages of conversations that go on, oldest first."""


class DialogueRecall(Recollection):
    """Recalls earlier conversations by the newest lines of dialogue.

    Args:
        talks: the conversations.
        considered: how many are recalled if a recall does not say.
        scoring: how; None is by meaning, however long ago it was.
    """

    def __init__(self, talks: Talks, considered: int, scoring: Scoring | None) -> None:
        by_meaning = Scoring.relevance_only() if scoring is None else scoring
        super().__init__(considered, scoring=by_meaning)
        self.talks = talks
        self.ungraded = list  # nothing here waits for a grade

    def focus(self) -> str:
        """The last lines of dialogue; empty without any."""
        return "\n".join(map(self.context.line, self.talks.spoken()[-QUERY_LINES:]))
