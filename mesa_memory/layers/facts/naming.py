"""The agents that facts name."""

import re
from collections.abc import Iterable
from typing import Any

from mesa_memory.core.content import ID_CHARS, id_of
from mesa_memory.core.events import subjects
from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.text.naming import name_key, with_name
from mesa_memory.layers.view import StepView

_LABEL = re.compile(r"(?:[^()]*\()?agent (\S+?)\)?", re.IGNORECASE)
#: what a speaker calls itself
_SELF = ("i", "me", "myself", "the speaker", "speaker")


class NameResolver:
    """The agents that a memory has met in its events, by unique id.

    Attributes:
        met: their unique ids, in order of meeting.
    """

    def __init__(self) -> None:
        self.met: dict[Any, None] = {}

    def meet(self, events: Iterable[MemoryRecord]) -> list[Any]:
        """Takes note of those in events; returns those who are met for the first time."""
        before = len(self.met)
        for event in events:
            for who in subjects(event.kind, event.content):
                if not isinstance(who, str) or len(who) <= ID_CHARS:
                    self.met[who] = None
        return list(self.met)[before:] if len(self.met) > before else []

    def find(self, view: StepView, text: str, speaker: Any = None) -> Any:
        """The unique id of the one agent that a text names; None if it names none.

        Args:
            speaker: who is meant by ``I``; None is the agent that remembers.
        """
        said, me = name_key(text), view.agent.unique_id
        if said in _SELF:
            return me if speaker is None else speaker
        names = view.names
        if label := _LABEL.fullmatch(said):
            who = id_of(label[1])
            there = who in self.met or who == me or names.all.has_mind(who) is not None
            return who if there else None
        everybody = {who: names.name(who) for who in (me, *self.met)}
        found = with_name(everybody, text)
        return found[0] if len(found) == 1 else None
