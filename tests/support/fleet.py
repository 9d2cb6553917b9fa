"""Towns whose memories are attacked, with a record of every event that was sent."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("OPENAI_API_KEY", "test")

import mesa  # noqa: E402
from mesa_llm.llm_agent import LLMAgent  # noqa: E402
from mesa_llm.parallel_stepping import (  # noqa: E402
    disable_automatic_parallel_stepping,
    enable_automatic_parallel_stepping,
    step_agents_parallel_sync,
)
from mesa_llm.reasoning.react import ReActReasoning  # noqa: E402

from mesa_memory import (  # noqa: E402
    EpisodicMemory,
    ImpressionMemory,
    LongTermMemory,
    ShortTermMemory,
    STLTMemory,
    configure,
)

#: name -> maker of a memory that soon needs its model and never forgets in a test
MEMORIES: dict[str, Callable[[Any], Any]] = {
    "short_term": lambda agent: ShortTermMemory(agent, n=1000),
    "stlt": lambda agent: STLTMemory(agent, 2, 1),
    "long_term": LongTermMemory,
    "episodic": lambda agent: EpisodicMemory(
        agent, max_capacity=10_000, considered_entries=1000
    ),
    "impression": lambda agent: ImpressionMemory(agent, update_every=2, n=1000),
}
#: those that ask a model
ASKING = tuple(name for name in MEMORIES if name != "short_term")
#: what each of them asks for
PURPOSE = {
    "stlt": "consolidate",
    "long_term": "consolidate",
    "episodic": "grade",
    "impression": "impression",
}
MODES = ("sync", "asyncio", "threading")
EXECUTIONS = ("blocking", "deferred")
#: a request fails for good within this many seconds
DEADLINE = 1.5
#: for a machine that does other things, too
SLACK = 2.0
#: settings that make a fault show at once
HASTY = {"timeout": 0.3, "attempts": 5, "deadline": DEADLINE, "backoff": 0.01}


class Diary:
    """Observes every record of a model."""

    def __init__(self) -> None:
        self.records: list[Any] = []

    def opened(self, record: Any) -> None:
        """Keeps the record."""
        self.records.append(record)

    def graded(self, record: Any) -> None:
        """The record is kept already."""

    def closed(self, record: Any) -> None:
        """The record is kept already."""


class Citizen(LLMAgent):
    """An agent that does in its step what its town says."""

    def step(self) -> None:
        """See ``Town.script``."""
        self.model.script(self)

    async def astep(self) -> None:
        """``step``; Mesa-LLM wraps this method, too."""
        self.model.script(self)


def idle(agent: Citizen) -> None:
    """Does nothing."""


class Town(mesa.Model):
    """Citizens with one kind of memory; ``sent`` is what each was told, and when.

    Args:
        memory: key of ``MEMORIES``.
        count: number of citizens, with unique ids from 1.
        base: address of the local server.
        name: of each citizen's model; ``{}`` is its unique id.
        **services: for ``configure``.
    """

    def __init__(
        self,
        memory: str,
        count: int = 1,
        base: str | None = None,
        name: str = "openai/test",
        **services: Any,
    ) -> None:
        super().__init__(rng=5)
        self.script: Callable[[Citizen], None] = idle
        self.sent: list[tuple[Any, str, float]] = []
        self.services = configure(self, **services)
        self.diary = Diary()
        self.services.observers.append(self.diary)
        self.citizens = [
            Citizen(
                self, ReActReasoning, name.format(number), step_prompt="", api_base=base
            )
            for number in range(1, count + 1)
        ]
        for citizen in self.citizens:
            citizen.memory = MEMORIES[memory](citizen)

    # -- what happens ---------------------------------------------------------------

    def tell(self, citizen: Citizen, text: str, sender: Any = 99) -> None:
        """One message to one citizen."""
        self.sent.append((citizen.unique_id, text, self.steps))
        message = {"message": text, "sender": sender}
        citizen.memory.add_to_memory("message", message)

    def show(self, citizen: Citizen, text: str) -> None:
        """One observation of one citizen; at most one a step."""
        self.sent.append((citizen.unique_id, text, self.steps))
        citizen.memory.add_to_memory("observation", {"view": text})

    def say_to_all(self, citizen: Citizen, text: str) -> None:
        """One message from one citizen to all others."""
        everybody = ((c.unique_id, text, self.steps) for c in self.citizens)
        self.sent.extend(everybody)
        citizen.send_message(text, self.citizens)

    def advance(self, mode: str = "sync") -> float:
        """One step of the clock and of all citizens; returns the seconds it took."""
        began = time.monotonic()
        self.step()
        if mode == "sync":
            self.agents.shuffle_do("step")
        else:
            enable_automatic_parallel_stepping(mode)
            try:
                step_agents_parallel_sync(list(self.agents))
            finally:
                enable_automatic_parallel_stepping()
                disable_automatic_parallel_stepping()
        return time.monotonic() - began

    # -- what became of it ------------------------------------------------------------

    def events(self) -> list[Any]:
        """The records of what happened, without what the memories made of it."""
        made = ("summary", "impression")
        return [record for record in self.diary.records if record.kind not in made]

    def made(self, kind: str) -> list[Any]:
        """The summaries or impressions, oldest first."""
        return [record for record in self.diary.records if record.kind == kind]

    def miscounted(self) -> dict[tuple, int]:
        """Events that were not recorded exactly once, at the step they were sent."""
        arrived = Counter((r.agent, _text(r), r.step) for r in self.events())
        arrived.subtract(Counter(self.sent))
        return {event: count for event, count in arrived.items() if count}

    def lost(self) -> list[str]:
        """Events that are neither shown word for word nor covered by a summary."""
        covered = _sources(self.diary.records)
        shown = {c.unique_id: c.memory.get_prompt_ready() for c in self.citizens}
        return [
            record.id
            for record in self.events()
            if (not record.current or _text(record) not in shown[record.agent])
            and record.id not in covered
        ]


def _text(record: Any) -> str:
    return record.content.get("message", record.content.get("view"))


def _sources(records: Iterable[Any]) -> set[str]:
    """The ids of all records that went into a summary or impression now current."""
    by_id = {record.id: record for record in records}
    found: set[str] = set()
    made = ("summary", "impression")
    waiting = [r for r in by_id.values() if r.kind in made and r.current]
    while waiting:
        new = set(waiting.pop().sources) - found
        found |= new
        waiting += [by_id[name] for name in new]
    return found
