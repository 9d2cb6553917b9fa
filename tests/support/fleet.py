"""Towns whose memories are attacked, with a record of every event that was sent."""

import os
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("OPENAI_API_KEY", "test")

import mesa
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.parallel_stepping import (
    disable_automatic_parallel_stepping,
    enable_automatic_parallel_stepping,
    step_agents_parallel_sync,
)
from mesa_llm.reasoning.react import ReActReasoning

from mesa_memory import (
    ConversationMemory,
    EpisodicMemory,
    FactMemory,
    ImpressionMemory,
    LayeredMemory,
    LongTermMemory,
    NarrativeMemory,
    ShortTermMemory,
    STLTMemory,
    configure,
)
from tests.support import layered
from tests.support.diary import Diary


class Brief(ConversationMemory):
    """Every step is a conversation of its own."""

    def step_ends(self, now: float) -> None:
        """Closes what was said in the step."""
        super().step_ends(now)
        self.layers[1].close_talks(self.view(), None, now)


#: name -> maker of a memory that soon needs its model and never forgets in a test
MEMORIES: dict[str, Callable[[Any], Any]] = {
    "short_term": lambda agent: ShortTermMemory(agent, n=1000),
    "stlt": lambda agent: STLTMemory(agent, 2, 1),
    "long_term": LongTermMemory,
    "episodic": lambda agent: EpisodicMemory(
        agent, max_capacity=10_000, considered_entries=1000, grade_together=1
    ),
    "impression": lambda agent: ImpressionMemory(agent, update_every=2, n=1000),
    "fact": lambda agent: FactMemory(agent, n=1000),
    "conversation": lambda agent: Brief(agent, 1000, recent=1000, n=1000),
    "narrative": lambda agent: NarrativeMemory(agent, 1, 1, keep_last=0),
    "layered": layered.unbounded,
}
#: every citizen of a mixed town has the next kind
MIXED = "mixed"
#: those that ask a model
ASKING = tuple(name for name in MEMORIES if name != "short_term")
#: what each of them asks for
PURPOSE = {
    "stlt": "consolidate",
    "long_term": "consolidate",
    "episodic": "grade",
    "impression": "impression",
    "fact": "extract",
    "layered": "consolidate",  # of several that fail, the first
    "conversation": "conversation",
    "narrative": "story",
}
#: kinds of records that memories make
MADE = ("summary", "impression", "fact", "conversation", "story", "chapter")
MODES = ("sync", "asyncio", "threading")
EXECUTIONS = ("blocking", "deferred")
#: settings that make a fault show soon; who answers at all is given time to do so
HASTY = {"timeout": 30, "attempts": 2, "deadline": 60, "backoff": 0.01}
#: for a server that says nothing, whom it is no use to wait for
HANGING = HASTY | {"timeout": 0.3, "attempts": 1}


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
        memory: key of ``MEMORIES``, or ``MIXED``.
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
        self.diary = Diary(self)
        self.citizens = [
            Citizen(
                self, ReActReasoning, name.format(number), step_prompt="", api_base=base
            )
            for number in range(1, count + 1)
        ]
        kinds = list(MEMORIES) if memory == MIXED else [memory]
        for number, citizen in enumerate(self.citizens):
            citizen.memory = MEMORIES[kinds[number % len(kinds)]](citizen)

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

    def advance(self, mode: str = "sync") -> None:
        """One step of the clock and of all citizens."""
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

    # -- what became of it ------------------------------------------------------------

    def events(self) -> list[Any]:
        """The records of what happened, without what the memories made of it."""
        return [record for record in self.diary.records if record.kind not in MADE]

    def made(self, kind: str) -> list[Any]:
        """The summaries, impressions or facts, oldest first."""
        return [record for record in self.diary.records if record.kind == kind]

    def miscounted(self) -> dict[tuple, int]:
        """Events that were not recorded exactly once, at the step they were sent."""
        arrived = Counter((r.agent, _text(r), r.step) for r in self.events())
        arrived.subtract(Counter(self.sent))
        return {event: count for event, count in arrived.items() if count}

    def uncovered(self) -> list[str]:
        """Events that no memory holds word for word and no summary covers."""
        covered = _sources(self.diary.records)
        gone = [record for record in self.events() if not record.current]
        return [record.id for record in gone if record.id not in covered]

    def hidden(self) -> list[str]:
        """Events that a memory holds, and neither shows nor covers by what it shows."""
        covered = _sources(self.diary.records)
        shown = {c.unique_id: c.memory.get_prompt_ready() for c in self.citizens}
        held = [record for record in self.events() if record.current]
        left = [r for r in held if _text(r) not in shown[r.agent]]
        return [record.id for record in left if record.id not in covered]

    def check_nothing_lost(self) -> None:
        """Every event arrived once and in time, and is shown or covered."""
        assert self.miscounted() == {}
        assert self.uncovered() == []
        assert self.hidden() == []

    def thought(self) -> dict[Any, list]:
        """By citizen, what its memory has made of the events by now."""
        thought: dict[Any, list] = {c.unique_id: [] for c in self.citizens}
        for kind in MADE:
            for record in self.made(kind):
                thought[record.agent].append(record.content)
        for record in self.events():
            if record.importance is not None:
                thought[record.agent].append((record.id, record.importance))
        return thought

    def due(self, citizen: Citizen) -> int:
        """How much its memory should have thought about by now, but has not."""
        memory: Any = citizen.memory
        if isinstance(memory, STLTMemory):
            return max(0, len(memory.short_term_memory) - 3)
        mine = [r for r in self.events() if r.agent == citizen.unique_id]
        if isinstance(memory, LongTermMemory):
            memory.settle()
            return len(memory.layers[0].held)
        if isinstance(memory, EpisodicMemory):
            return sum(record.importance is None for record in mine)
        if isinstance(memory, ImpressionMemory):
            known = memory.layers[1].known.values()
            return sum(len(other.since) >= memory.update_every for other in known)
        if isinstance(memory, FactMemory):
            return len(memory.layers[1].waiting())
        if isinstance(memory, LayeredMemory):
            memory.settle()
            window, _, impressions, stream = memory.layers
            known = impressions.known.values()
            renewed = sum(len(k.since) >= impressions.update_every for k in known)
            # What the model could not grade so often stays without a grade.
            return max(0, len(window.held) - 3) + renewed + len(stream.ungraded())
        if isinstance(memory, NarrativeMemory):
            return len(memory.short_term_memory)
        if isinstance(memory, ConversationMemory):
            return sum(bool(talk.messages) for talk in memory.layers[1].talks)
        return 0

    def most_requests(self) -> int:
        """To how many requests a step that has just ended may have come.

        Each memory that asks puts a question, and once more with what was wrong with
        the reply; grades that cannot be used are asked for in ever smaller parts.
        """
        questions = 0
        for citizen in self.citizens:
            several = isinstance(citizen.memory, EpisodicMemory | LayeredMemory)
            parts = 2 * self.due(citizen) if several else 1
            questions += 2 * max(1, parts) + 4 * several
        return questions * self.services.settings.attempts


def _text(record: Any) -> str:
    return record.content.get("message", record.content.get("view"))


def _sources(records: Iterable[Any]) -> set[str]:
    """The ids of all records that went into a summary or impression now current."""
    by_id = {record.id: record for record in records}
    found: set[str] = set()
    waiting = [r for r in by_id.values() if r.kind in MADE and r.current]
    while waiting:
        new = set(waiting.pop().sources) - found
        found |= new
        waiting += [by_id[name] for name in new]
    return found
