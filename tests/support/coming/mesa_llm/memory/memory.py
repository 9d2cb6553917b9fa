"""What a memory of the coming version has."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any


@dataclass
class MemoryEntry:
    content: dict
    step: int | None
    agent: Any

    def __post_init__(self):
        self._event_order = []

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
    ):
        self.agent, self.display = agent, display
        self.additive_event_types = set(additive_event_types or {"message", "action"})
        self.step_content = {}
        self._step_event_order = []

    @abstractmethod
    def get_prompt_ready(self): ...

    @abstractmethod
    def get_communication_history(self): ...

    @abstractmethod
    def process_step(self, pre_step=False): ...

    def add_to_memory(self, type, content):
        if type not in self.additive_event_types:
            self.step_content[type] = content
            return
        self.step_content.setdefault(type, []).append(content)
        self._step_event_order.append(type)

    async def aadd_to_memory(self, type, content):
        self.add_to_memory(type, content)
