"""What a memory of the coming version has."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any


@dataclass
class MemoryEntry:
    content: dict
    step: int | None
    agent: Any
    _event_order: list = field(init=False, repr=False, compare=False)

    def __post_init__(self):
        self._event_order = list(self.content)

    def display(self):
        print(self.step, self.content)


class Memory(ABC):
    def __init__(
        self,
        agent,
        llm_model=None,
        display=True,
        api_base=None,
        additive_event_types=None,
        fallback_model=None,
    ):
        self.agent, self.display = agent, display
        self.additive_event_types = set(additive_event_types or {"message", "action"})
        self.step_content = {}
        self.llm = None

    @abstractmethod
    def get_prompt_ready(self): ...

    @abstractmethod
    def get_communication_history(self): ...

    @abstractmethod
    def process_step(self, pre_step=False): ...

    def add_to_memory(self, type, content):
        self.step_content.setdefault(type, []).append(content)

    async def aadd_to_memory(self, type, content):
        self.add_to_memory(type, content)
