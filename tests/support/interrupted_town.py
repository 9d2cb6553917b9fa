"""A small town for lives that are interrupted: people come, leave, and tell each other news."""

from collections.abc import Callable
from functools import partial
from typing import Any

import mesa
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import Services, configure, register_policy
from mesa_memory.layers import Reflection
from mesa_memory.memories.registry import find

#: small, so that each of them soon has something to sum up or to forget
SMALL: dict[str, dict[str, Any]] = {
    "short_term": {"n": 2},
    "stlt": {"short_term_capacity": 2},
    "episodic": {
        "max_capacity": 8, "reflection": Reflection(), "reflect_threshold": 20,
    },
    "impression": {"update_every": 2, "n": 2},
    "fact": {"n": 2, "summary": True},
    "conversation": {"short_term_turns": 2, "n": 2, "idle_steps": 0},
    "narrative": {"chapters": 2, "story_tokens": 20, "keep_last": 1},
}  # fmt: skip
KINDS = (
    "short_term", "stlt", "long_term", "episodic", "impression", "fact",
    "conversation", "narrative", "unimatrix", "session", "story_engine",
    "generative_agent",
)  # fmt: skip
SAID = (
    "Carl lives at the mill.",
    "Bob is the mayor.",
    "Bob is not the mayor.",
    "I trust Ann, she is my friend.",
    "The bridge is broken!",
    "Carl lives at the harbour.",
)
QUERY = "Who lives at the mill by the bridge?"
QUIET = register_policy("quiet", lambda turn: "Nothing.")


def small(kind: str) -> partial:
    """A memory that soon has something to sum up or to forget."""
    return partial(find(kind), **SMALL.get(kind, {}))


class Person(LLMAgent):
    """Sees the day, and tells the next one of it."""

    def step(self) -> None:
        """One day."""
        day = f"day {self.model.steps:g}"
        self.memory.add_to_memory("observation", {"text": f"It is {day}."})
        others = [agent for agent in self.model.agents if agent is not self]
        if others:
            self.send_message(SAID[int(self.model.steps) % len(SAID)], others[:1])


class Town(mesa.Model):
    """People with one kind of memory; some come later, and some leave."""

    def __init__(
        self, kind: str, execution: str = "blocking", record: Any = None, rng: Any = 1
    ) -> None:
        super().__init__(rng=rng)
        configure(self, llm="offline", execution=execution, record=record)
        self.kind, self.born = kind, 0
        self.planned: Callable[[Person], Any] | None = None
        for _ in range(2):
            self.newcomer()

    def newcomer(self) -> None:
        """One person more."""
        person = Person(self, CoTReasoning, QUIET)
        person.memory = small(self.kind)(person)
        self.born += 1

    def step(self) -> None:
        """All act; what is ``planned`` is done after the first of them."""
        first, *others = self.agents
        first.step()
        if self.planned is not None:
            self.planned(first)
        for agent in others:
            agent.step()

    def get_state(self) -> dict[str, Any]:
        """Who was born, and who is here."""
        here = [agent.unique_id for agent in self.agents]
        return {"born": self.born, "here": here}

    def set_state(self, state: dict[str, Any]) -> None:
        """Takes it up again."""
        while self.born < state["born"]:
            self.newcomer()
        for agent in list(self.agents):
            if agent.unique_id not in state["here"]:
                agent.remove()


def told(record: Any) -> tuple:
    """What is compared of a record."""
    return (
        record.id, record.kind, record.step, record.content, record.importance,
        list(record.sources), record.origin, record.stale_since,
    )  # fmt: skip


def held(town: Town) -> dict[Any, list[tuple]]:
    """What each agent remembers."""
    Services.of(town).flush()
    return {
        agent.unique_id: sorted(map(told, agent.memory.current_records()))
        for agent in town.agents
    }


def ended(town: Town) -> dict[Any, list[tuple]]:
    """The former records that each memory still holds."""
    return {
        agent.unique_id: [
            (*told(record), record.valid_to, record.closed_because)
            for record in agent.memory.held_records()
            if not record.current
        ]
        for agent in town.agents
    }


def shown(town: Town) -> dict[Any, tuple]:
    """What each agent is shown, and what a question brings to its mind."""
    found = {}
    for agent in town.agents:
        recall = getattr(agent.memory, "recall", None)
        came = [] if recall is None else recall(QUERY, 5)
        found[agent.unique_id] = (
            agent.memory.get_prompt_ready(),
            [(each.record.id, round(each.score, 9)) for each in came],
        )
    return found
