"""An inn whose guests talk, each with a memory of another kind; recorded."""

from typing import Any

import mesa

from mesa_memory import (
    ConversationMemory,
    EpisodicMemory,
    FactMemory,
    ImpressionMemory,
    LayeredMemory,
    NarrativeMemory,
    STLTMemory,
    Window,
    configure,
)
from mesa_memory.layers.stream.event_stream import EventStream
from tests.support.single import settle

#: the memory of agent n is the one at place n - 1
KINDS = [
    lambda agent: ConversationMemory(agent, idle_steps=0, recent=1, recall=2),
    lambda agent: FactMemory(agent, n=2),
    lambda agent: NarrativeMemory(agent, chapters=4, story_tokens=60, keep_last=2),
    lambda agent: LayeredMemory(agent, [Window(None), EventStream(capacity=20)], 110),
    lambda agent: STLTMemory(agent, short_term_capacity=2, consolidation_capacity=1),
    lambda agent: EpisodicMemory(agent, max_capacity=6),
    lambda agent: ImpressionMemory(agent, update_every=1),
]
#: step -> speaker, hearers, words
SAID = {
    1: (5, (1, 2), "Carl lives at the mill."),
    2: (5, (1, 2), "Carl has moved to the inn."),
    3: (6, (1, 2), "Carl lives at the tower."),
    4: (1, (5,), "The key is under the mat."),
    5: (5, (1, 2), "Bob is sad today."),
}


class Inn(mesa.Model):
    """Guests who tell each other where Carl lives; one of them adds words of its own.

    Args:
        record: where; True is in memory.
        words: said by guest 6 to everybody in each step.
        rng: seed.
        quiet: steps before the first of ``SAID``.
    """

    def __init__(
        self,
        record: Any = True,
        words: str = "",
        rng: Any = 1,
        quiet: int = 0,
        **configured: Any,
    ) -> None:
        super().__init__(rng=rng)
        self.words, self.quiet = words, quiet
        configure(self, llm="offline", record=record, **configured)
        for kind in KINDS:
            settle(self, kind)

    def step(self) -> None:
        """Somebody speaks, and everybody reads its memory."""
        guests = {guest.unique_id: guest for guest in self.agents}
        if said := SAID.get(self.steps - self.quiet):
            speaker, hearers, words = said
            guests[speaker].send_message(words, [guests[n] for n in hearers])
        told = f"On day {self.steps} the river rose by {self.steps % 4} feet!"
        others = [guest for n, guest in guests.items() if n != 6]
        guests[6].send_message(self.words or told, others)
        for guest in guests.values():
            guest.memory.process_step()
            guest.memory.get_prompt_ready()
