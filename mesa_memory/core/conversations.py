"""Messages grouped into conversations by their participants.

Everybody has its own view: it knows what it said and heard, and of a message that it
heard often the speaker alone, see ``in_talk``.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mesa_memory.core.events import subjects
from mesa_memory.core.records import MemoryRecord


def in_talk(content: Any, me: Any) -> tuple[tuple[Any, ...], bool]:
    """The other participants of a message's talk, as far as the message says.

    Args:
        content: of the message.
        me: unique id of the agent that heard or sent it.

    Returns:
        Unique ids, the sender first; and whether these are all of them: Mesa-LLM tells
        the recipients of a message only its sender.
    """
    known = dict.fromkeys(subjects("message", content))
    told = isinstance(content, Mapping) and content.get("recipients") is not None
    complete = told or not known or me in known
    return tuple(agent for agent in known if agent != me), complete


@dataclass
class Conversation:
    """The messages between an agent and the same others.

    Attributes:
        others: unique ids of the other participants, in the order in which they came.
        last: step of the newest message.
        complete: False while only a speaker is known, and not who else listens.
        closed: the last step whose messages belong to it; None while it goes on.
        messages: records, oldest first.
    """

    others: tuple[Any, ...]
    last: float
    complete: bool = True
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
    """Finds the conversation of each message of one step.

    A message belongs to the conversation with the same participants. One that names its
    speaker alone belongs to the newest conversation with the speaker. Without one it
    opens a conversation, which later joins the one in which the speaker is answered
    together with others.

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
        open_.sort(key=lambda t: t.messages[-1].order if t.messages else (0, 0))
        self._with = {frozenset(talk.others): talk for talk in open_}
        self._of = {other: talk for talk in open_ for other in talk.others}

    def add(self, message: MemoryRecord) -> None:
        """Adds a message to its conversation."""
        talk = self.meet(message)
        talk.messages.append(message)
        talk.last = max(talk.last, self._step)

    def meet(self, message: MemoryRecord) -> Conversation:
        """The conversation of a message, opened if need be."""
        others, complete = in_talk(message.content, self._me)
        talk = None if complete else self._of.get(others[0])
        if talk is None:
            talk = self._with.get(frozenset(others)) or self._open(others)
        if complete:
            self._complete(talk)
        for other in talk.others:
            self._of[other] = talk
        return talk

    def _open(self, others: Sequence[Any]) -> Conversation:
        talk = Conversation(tuple(others), self._step, complete=False)
        self._talks.append(talk)
        self._with[frozenset(others)] = talk
        return talk

    def _complete(self, talk: Conversation) -> None:
        """All participants are known: an agent heard alone was heard here."""
        talk.complete = True
        for other in talk.others:
            heard = self._with.get(frozenset((other,)))
            if heard is None or heard is talk or heard.complete:
                continue
            talk.messages = sorted(
                [*heard.messages, *talk.messages], key=lambda each: each.order
            )
            talk.last = max(talk.last, heard.last)
            self._talks.remove(heard)
            del self._with[frozenset((other,))]
