"""Towns with one planted fault each, for audits: what must not matter matters in them."""

import random

import mesa
import numpy as np

from mesa_memory import configure
from mesa_memory.examples.trust_market.memories import BlankMemory
from mesa_memory.experiments import Study, draw
from mesa_memory.memories.registry import find

OWN = {"none": BlankMemory}
NAMES = ("Ann", "Bea", "Cid", "Dov")
FIRST_CHARS = 300
STEPS = 4
#: the axis that finds each fault
FAULTS = {
    "lines by id": "ids",
    "first mover": "order",
    "favourite name": "names",
    "own chance": "streams",
    "name of the arm": "label",
    "one memory": "sharing",
    "first characters": "wording",
}


class Citizen(mesa.Agent):
    """Has a name, hears news, and is afraid if it reads of poison."""


class Town(mesa.Model):
    """Citizens hear of many things each day; those who remember poison are afraid.

    Args:
        fault: one of ``FAULTS``, or none.
        poison: chance that a piece of news is about the well.
    """

    own_memories = OWN

    def __init__(self, memory="short_term", fault=None, poison=0.2, rng=None):
        super().__init__(rng=rng)
        configure(self, llm="offline")
        self.fault, self.poison, self.arm = fault, poison, str(memory)
        self.afraid, self.heard = 0.0, set()
        for name in NAMES:
            one = Citizen(self)
            one.name, one.afraid = name, False
            one.memory = find(memory, OWN)(one)
        self.people = list(self.agents)
        if fault == "one memory":
            self.people[1].memory = self.people[0].memory

    def step(self):
        self.heard = {self.people[0]}
        for one in self.agents:
            self._hear(one)
            told = self._reads(one)
            one.afraid = "poisoned" in told
            self._after(one, told)
        self.afraid = float(np.mean([one.afraid for one in self.agents]))

    def _hear(self, one):
        for number, chance in enumerate(draw(one, "news").random(3)):
            late = self.fault != "first characters" or self.steps > 2
            what = (
                "the well is poisoned"
                if late and chance < self.poison
                else "the bread is warm"
            )
            text = f"It is said {number}: {what}"
            if self.fault == "first characters":  # and no two lines are folded
                text = f"It is said {number} on day {self.steps}: {what}"
            one.memory.add_to_memory("news", {"text": text})
        one.memory.process_step()

    def _reads(self, one):
        told = one.memory.get_prompt_ready()
        return told[:FIRST_CHARS] if self.fault == "first characters" else told

    def _after(self, one, told):
        """The fault: what decides besides, or instead."""
        if not told:
            return
        if self.fault == "lines by id":
            lines = sorted((a.unique_id, place) for place, a in enumerate(self.people))
            one.afraid = lines[0][1] == 0
        if self.fault == "first mover":
            # A rumour passes from each to the next of the first day's list.
            one.afraid = one in self.heard
            if one.afraid:
                after = (self.people.index(one) + 1) % len(self.people)
                self.heard.add(self.people[after])
        if self.fault == "favourite name":
            one.afraid = any(each.name == "Cid" for each in self.people)
        if self.fault == "own chance":
            one.afraid = random.random() < 0.8
        if self.fault == "name of the arm":
            one.afraid = "short_term" in self.arm


def afraid(model):
    return model.afraid


def audited(store, fault=None, seeds=range(10), axes=None, **given):
    """The audit of one town: short-term memory against none."""
    from mesa_memory.experiments.axes import AXES, GIVEN

    study = Study(
        Town, {"memory": ["none", "short_term"], "fault": [fault]}, seeds=seeds,
        steps=STEPS, outcomes={"afraid": afraid}, store=store, record=False,
    )  # fmt: skip
    study.run("serial", progress=False)
    axes = axes or [axis for axis in AXES if axis not in GIVEN]
    return study.audit(
        "short_term", base="none", axes=axes, margin=0.25, executor="serial",
        progress=False, **given,
    )  # fmt: skip
