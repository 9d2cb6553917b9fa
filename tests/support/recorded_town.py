"""A small town with every kind of memory, recorded."""

from typing import Any

from mesa_memory import (
    ConversationMemory,
    EpisodicMemory,
    ImpressionMemory,
    LongTermMemory,
    Recording,
    Scoring,
    ShortTermMemory,
    STLTMemory,
    configure,
)
from mesa_memory.layers import Reflection
from tests.support import layered
from tests.support.town import Town


def stream(agent: Any) -> EpisodicMemory:
    """A small stream whose recalls count as accesses, with the paper's reflection."""
    return EpisodicMemory(
        agent,
        max_capacity=15,
        reflection=Reflection.questions(2, per_question=4),
        reflect_threshold=20,
        scoring=Scoring(refresh="throttled", refresh_every=2),
    )


MEMORIES = [
    lambda agent: ConversationMemory(agent, 3, recent=2, idle_steps=0),
    STLTMemory,
    LongTermMemory,
    ImpressionMemory,
    ShortTermMemory,
    stream,
    layered.four,
    lambda agent: EpisodicMemory(agent, reflect_threshold=20, max_capacity=15),
]


class RecordedTown(Town):
    """Citizens who read their memory, in a town that keeps a diary of its own."""

    def __init__(self, file: str, n: int = 7, llm: Any = "offline", **given: Any):
        self.file, self.n, self.llm = file, n, llm
        self.diary: list[str] = []
        given.setdefault("record", Recording(file, checkpoint_every=4))
        super().__init__(
            n,
            lambda agent: MEMORIES[agent.unique_id % len(MEMORIES)](agent),
            setup=lambda model: configure(model, llm=llm, **given),
        )

    def step(self) -> None:
        """All act, then read what they remember, in a random order."""
        super().step()
        for citizen in self.random.sample(self.citizens, len(self.citizens)):
            text = citizen.memory.get_prompt_ready()
            self.diary.append(f"{self.steps}: {citizen.unique_id} {len(text)}")

    def get_state(self) -> dict[str, Any]:
        """What the town keeps besides its citizens' memories."""
        return {"diary": self.diary}

    def set_state(self, state: dict[str, Any]) -> None:
        """Takes it up again."""
        self.diary = state["diary"]
