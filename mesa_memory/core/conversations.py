"""Messages grouped into conversations by their participants.

Everybody has its own view: it knows what it said, what it heard and who else heard that.
A message whose recipients are unknown is between its sender and the one who heard it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from mesa_memory.core.events import subjects
from mesa_memory.core.records import MemoryRecord


@dataclass
class Conversation:
    """The messages between an agent and the same others.

    Attributes:
        others: unique ids of the other participants, as the first message names them.
        last: step of the newest message.
        closed: the last step whose messages belong to it; None while it goes on.
        messages: records, oldest first.
    """

    others: tuple[Any, ...]
    last: float
    closed: float | None = None
    messages: list[MemoryRecord] = field(default_factory=list)

    def copy(self) -> "Conversation":
        """One with the same messages in a list of its own."""
        return replace(self, messages=self.messages.copy())

    def silent(self, step: float) -> float:
        """The number of whole steps without a message before this one."""
        return step - self.last - 1

    def among(self, others: Iterable[Any]) -> bool:
        """True if these are the other participants, in any order."""
        return set(self.others) == set(others)


class Grouping:
    """Finds the conversation of each message of one step: that of its participants.

    Args:
        talks: conversations in the order of their first message; it is changed. Those
            in which nothing was said for too long are closed.
        step: of the messages.
        idle_steps: steps without a message that a conversation survives.
        me: unique id of the agent whose view this is.
    """

    def __init__(
        self, talks: list[Conversation], step: float, idle_steps: float, me: Any
    ) -> None:
        self._talks, self._step, self._me = talks, step, me
        for talk in talks:
            if talk.closed is None and talk.silent(step) > idle_steps:
                talk.closed = talk.last
        open_ = [t for t in talks if t.closed is None or step <= t.closed]
        self._with = {frozenset(talk.others): talk for talk in open_}

    def add(self, message: MemoryRecord) -> None:
        """Adds a message to its conversation."""
        talk = self.meet(message)
        talk.messages.append(message)
        talk.last = max(talk.last, self._step)

    def meet(self, message: MemoryRecord) -> Conversation:
        """The conversation of a message, opened if need be."""
        met = dict.fromkeys(subjects("message", message.content))
        met.pop(self._me, None)
        others = frozenset(met)
        talk = self._with.get(others)
        if talk is None:
            talk = self._with[others] = Conversation(tuple(met), self._step)
            self._talks.append(talk)
        return talk
