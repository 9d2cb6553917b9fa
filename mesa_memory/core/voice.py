"""Names of agents in texts, and the words that tell of them."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from mesa_memory.core.content import by_id
from mesa_memory.core.wording import ENGLISH, Wording

#: names of the addressees of a message, and in other lists; of more, the number is told
MAX_ADDRESSEES, MAX_LISTED_NAMES = 3, 8


@dataclass(frozen=True)
class Voice:
    """The names and the words of a text.

    Called with a unique id, it gives the agent's name.

    Attributes:
        naming: gives the name.
        wording: all other words.
        owner: unique id of the agent that remembers: what it heard went to it, and
            messages name those to whom they went; None leaves them out.
        to_owner: whether it reads the text itself and is called "you".
    """

    naming: Callable[[Any], str] = by_id
    wording: Wording = ENGLISH
    owner: Any = None
    to_owner: bool = False

    def __call__(self, unique_id: Any) -> str:
        """The name of an agent; of the reader, too."""
        return self.naming(unique_id)

    def say(self, part: str, **values: Any) -> str:
        """A sentence of the prompt file ``events``."""
        return self.wording("events", part, **values)

    def message(self, sender: Any, recipients: Sequence[Any], text: str) -> str:
        """A spoken line with its speaker, and its listeners where known."""
        who = self.say("you") if self._reads(sender) else self(sender)
        heard = self._heard(sender, recipients)
        shown = heard if len(heard) <= MAX_ADDRESSEES + 1 else heard[:MAX_ADDRESSEES]
        names = [
            self.say("to you") if self._reads(other) else self(other) for other in shown
        ]
        return self.say(
            "message", who=who, others=names, more=len(heard) - len(names), text=text
        )

    def listed(self, unique_ids: Iterable[Any]) -> str:
        """Names in a sentence: ``Ada, Bob and Agent 4``; of many, how many more."""
        several = [self(each) for each in unique_ids]
        if not several:
            return self.say("nobody else")
        shown = several[:MAX_LISTED_NAMES]
        if more := len(several) - len(shown):
            return self.say("more names", others=shown, more=more)
        return self.say("names", others=shown)

    def _heard(self, sender: Any, recipients: Sequence[Any]) -> list[Any]:
        """The listeners, the owner first; empty if they are not shown."""
        if self.owner is None:
            return []
        heard = [other for other in recipients if other != sender]
        if not heard and sender != self.owner:
            return [self.owner]
        return sorted(heard, key=lambda other: other != self.owner)

    def _reads(self, unique_id: Any) -> bool:
        return self.to_owner and unique_id == self.owner


@cache
def speech(wording: Wording) -> re.Pattern[str]:
    """Reads a message with its addressees back: who, to whom, what."""
    told = wording("events", "message", who="\1", others=["\2"], more=0, text="\3")
    form = re.escape(told).replace("\1", "(.+?)").replace("\2", "(.+?)")
    return re.compile(f"^{form.replace('\3', '(.*)')}$", re.DOTALL)


#: of texts for researchers: agents by their ids, in English
PLAIN = Voice()
