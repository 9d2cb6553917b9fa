"""What a memory still shows of facts that were said once among small talk.

    python -m benchmarks.small_talk [--seeds 3] [--memories episodic] [--json]

One person lives a hundred steps. In each, four neighbours say one of six sentences of
small talk; in twenty of the first sixty, one of them tells a fact with a name and a
number of its own. A fact is shown if its words stand in the memory's text. The table
gives, for each memory, the share of the facts shown some steps after they were told, and
the characters shown in a step. The offline rules answer, so nothing is drawn but the
steps, the speakers and the sentences.
"""

import os
import random
from collections.abc import Callable
from functools import partial
from typing import Any

os.environ.setdefault("OPENAI_API_KEY", "none")  # Mesa-LLM wants one for each agent

import mesa
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from benchmarks.tables import options, show
from mesa_memory import (
    EpisodicMemory,
    LayeredMemory,
    ShortTermMemory,
    STLTMemory,
    configure,
)

STEPS, FACTS, TOLD_UNTIL = 100, 20, 60
INTERVALS = (1, 5, 10, 20, 40)
NEIGHBOURS = ("Bram", "Cleo", "Dov", "Esra")
SMALL_TALK = (
    "What a fine day it is.",
    "The clock on the tower runs slow again.",
    "Did you sleep well?",
    "It smells of rain, do you not think so?",
    "There is always something to mend.",
    "Good morning, neighbour.",
)
THINGS = ("cart", "goat", "barrel", "ladder", "boat", "stove", "plough", "loom")
OWNERS = ("Anselm", "Berta", "Curd", "Dietlind", "Ekkehard")

PUBLISHED = LayeredMemory.generative_agent
MEMORIES: dict[str, Callable[[Any], Any]] = {
    "short_term": ShortTermMemory,
    "stlt": STLTMemory,
    "episodic": EpisodicMemory,
    "episodic, keep": partial(EpisodicMemory, repetitions="keep"),
    "generative_agent": PUBLISHED,
    "generative_agent, fold": partial(PUBLISHED, repetitions="fold"),
}


class Street(mesa.Model):
    """One person who listens to four neighbours."""

    def __init__(self, memory: Callable[[Any], Any], seed: int) -> None:
        super().__init__(rng=seed)
        configure(self, llm="offline")
        self.draws = random.Random(seed)
        people = [
            LLMAgent(self, CoTReasoning, llm_model="openai/none", system_prompt="")
            for _ in range(1 + len(NEIGHBOURS))
        ]
        self.me, *self.neighbours = people
        for person, name in zip(self.neighbours, NEIGHBOURS, strict=True):
            person.name = name
        self.me.memory = memory(self.me)
        facts = [
            f"The {thing} of {owner} has the number {self.draws.randrange(100, 1000)}."
            for thing in THINGS
            for owner in OWNERS
        ]
        told = self.draws.sample(range(1, TOLD_UNTIL + 1), FACTS)
        self.facts = dict(zip(told, self.draws.sample(facts, FACTS), strict=True))
        self.texts: list[str] = []

    def step(self) -> None:  # noqa: D102
        said = [self.draws.choice(SMALL_TALK) for _ in self.neighbours]
        if fact := self.facts.get(self.steps):
            said[self.draws.randrange(len(said))] = fact
        for person, text in zip(self.neighbours, said, strict=True):
            person.send_message(text, [self.me])
        self.me.memory.process_step()
        self.texts.append(self.me.memory.get_prompt_ready())


def lived(memory: Callable[[Any], Any], seed: int) -> Street:
    """A street after all its steps."""
    street = Street(memory, seed)
    for _ in range(STEPS):
        street.step()
    return street


def row(name: str, seeds: int) -> dict[str, Any]:
    """What one memory shows, over all seeds."""
    streets = [lived(MEMORIES[name], seed) for seed in range(seeds)]
    shares = {}
    for after in INTERVALS:
        shown = [
            fact in street.texts[step - 1 + after]
            for street in streets
            for step, fact in street.facts.items()
        ]
        shares[f"after {after}"] = round(sum(shown) / len(shown), 3)
    texts = [text for street in streets for text in street.texts]
    return {"memory": name, **shares, "chars": round(sum(map(len, texts)) / len(texts))}


def main() -> None:
    """Prints the table."""
    given = options(__doc__, seeds=3, memories=MEMORIES)
    rows = [row(name, given.seeds) for name in given.memories]
    show("Facts shown some steps after they were told", rows, as_json=given.json)


if __name__ == "__main__":
    main()
