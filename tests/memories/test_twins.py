"""Blocking, async and deferred execution remember the same."""

import asyncio
from typing import Any

import mesa
from mesa_llm.llm_agent import LLMAgent

from mesa_memory import (
    ConversationMemory,
    EpisodicMemory,
    FactMemory,
    NarrativeMemory,
    STLTMemory,
    configure,
)
from mesa_memory.layers import FrontHalf, OverTokens, Reflection
from mesa_memory.memories.registry import find
from tests.support import layered
from tests.support.diary import Diary
from tests.support.single import Late, settle
from tests.support.turns import in_turn


def rows(diary: Diary) -> list[tuple]:
    """All records, by id."""
    return sorted(
        (
            *(r.id, r.kind, r.step, repr(r.content), r.importance, r.subject),
            *(r.sources, r.origin, r.valid_from, r.valid_to),
            *(r.closed_because, r.superseded_by),
        )
        for r in diary.records
    )


class Villager(LLMAgent):
    """Sees everybody, speaks to one, acts, and keeps what it was shown."""

    def step(self) -> None:
        """One observation, one or two messages, sometimes an action."""
        others = [a for a in self.model.villagers if a is not self]
        seen = {f"Villager {a.unique_id}": {"mood": self.model.steps} for a in others}
        self.memory.add_to_memory(
            "observation", {"self_state": {"id": self.unique_id}, "local_state": seen}
        )
        self.model.shown.append(self.memory.get_prompt_ready())
        self.model.shown.append(self.memory.get_communication_history())
        if self.model.steps % 3 == 1 and isinstance(self.memory, EpisodicMemory):
            found = self.memory.recall("Is the bridge broken?", k=4)
            self.model.shown.append(str([(r.record.id, r.score) for r in found]))
        friend = others[(self.model.steps + self.unique_id) % len(others)]
        self.send_message(
            f"On day {self.model.steps} I help, {self.unique_id}", [friend]
        )
        if self.model.steps % 3 == 0:
            self.send_message("The bridge is broken!", others)
            self.memory.add_to_memory("action", {"tool_calls": [{"name": "mend"}]})

    async def astep(self) -> None:
        """The same; Mesa-LLM wraps this method, too."""
        Villager._raw_user_step(self)


class Village(mesa.Model):
    """Four villagers; ``shown`` collects every prompt text in order."""

    def __init__(self, memory: Any, asynchronous: bool, **services: Any) -> None:
        super().__init__(rng=3)
        self.asynchronous = asynchronous
        self.shown: list[str] = []
        self.llm = Late(5)
        self.services = configure(self, llm=self.llm, **services)
        self.diary = Diary(self)
        told = {"step_prompt": "Live well."}
        self.villagers = settle(self, memory, 4, Villager, "openai/test", **told)

    def step(self) -> None:
        """One day, in an order from the seed."""
        order = list(self.villagers)
        self.random.shuffle(order)
        if self.asynchronous:
            asyncio.run(self._astep(order))
        else:
            for villager in order:
                villager.step()

    async def _astep(self, order: list[Villager]) -> None:
        for villager in order:
            await villager.astep()


def live(memory: Any, execution: str, asynchronous: bool, days: int = 12) -> dict:
    """Everything observable of a run."""
    village = Village(memory, asynchronous, execution=execution)
    for _ in range(days):
        village.step()
    village.services.flush()
    asked = village.llm.asked
    final = [v.memory.get_prompt_ready() for v in village.villagers]
    return {
        "requests": sorted(
            (r.agent, r.step, r.purpose, r.system, r.prompt) for r in asked
        ),
        "records": rows(village.diary),
        "shown": village.shown + final,
    }


DAYS = 9
MEMORIES = {
    **{name: find(name) for name in ("short_term", "long_term", "impression", "fact")},
    **{name: find(name) for name in ("layered", "unimatrix", "story_engine")},
    "stlt": lambda agent: STLTMemory(agent, 2, 1),
    "stlt_tokens": lambda a: STLTMemory(a, consolidation=OverTokens(120, 1)),
    "stlt_front": lambda a: STLTMemory(a, consolidation=FrontHalf(3, 0.5)),
    "episodic_small": lambda agent: EpisodicMemory(agent, max_capacity=20),
    "episodic_focus": lambda agent: EpisodicMemory(agent, considered_entries=3),
    "episodic_context": lambda agent: EpisodicMemory(agent, grade_context=5),
    "reflection": lambda agent: reflecting(agent, Reflection.direct(5, 2)),
    "questions": lambda agent: reflecting(agent, Reflection.questions(2)),
    "fact_character": lambda a: FactMemory(a, max_facts=3, summary=True),
    "fact_recalled": lambda a: FactMemory(a, direct_tokens=20, considered_facts=2),
    "layered_four": layered.four,
    "layered_small": lambda agent: layered.four(agent, 200),
    "narrative": lambda a: NarrativeMemory(a, 3, story_tokens=120, keep_last=1),
    "conversation": lambda agent: ConversationMemory(agent, 2, 1, idle_steps=0),
}


def reflecting(agent, plan):
    return EpisodicMemory(agent, reflection=plan, reflect_threshold=20)


@in_turn(name=MEMORIES, left_out=[0, 1, 2])
def test_every_execution_gives_the_same_requests_records_and_prompts(name, left_out):
    """Each memory is compared with two of the three other executions."""
    blocking = live(MEMORIES[name], "blocking", asynchronous=False, days=DAYS)
    assert blocking["records"], "the run recorded nothing, so it proves nothing"
    assert bool(blocking["requests"]) == (name != "short_term")
    assert len(set(blocking["shown"])) > 20
    made = any(row[1] == "reflection" for row in blocking["records"])
    assert made or name not in ("reflection", "questions")
    others = [("blocking", True), ("deferred", False), ("deferred", True)]
    del others[left_out]
    for execution, asynchronous in others:
        other = live(MEMORIES[name], execution, asynchronous, DAYS)
        for part, expected in blocking.items():
            assert other[part] == expected, (execution, asynchronous, part)
