"""An agent may have several memories of one class, also one after the other."""

import copy
from functools import partial

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent

from mesa_memory import EpisodicMemory, configure, fork, open_run, resume
from tests.support.classes import EVERY
from tests.support.playing import ended, lived
from tests.support.single import settle
from tests.support.turns import in_turn


class Neighbour(LLMAgent):
    def step(self):
        others = [agent for agent in self.model.agents if agent is not self]
        self.send_message(f"Day {self.model.steps}: the bridge is broken!", others)
        if self.diary is not None:
            self.diary.add_to_memory("note", {"text": f"Day {self.model.steps}."})
            self.diary.process_step()


class Street(mesa.Model):
    """Neighbours who forget all on day 4 and, if they write one, keep a diary."""

    def __init__(self, memory="EpisodicMemory", diary=True, file="", rng=None):
        super().__init__(rng=rng)
        self.memory, self.diary, self.file = memory, diary, file
        configure(self, llm="offline", record=file or None)
        for agent in settle(self, self.new, 2, Neighbour):
            agent.diary = self.new(agent) if diary else None

    def new(self, agent):
        return {c.__name__: c for c in EVERY}[self.memory](agent)

    def step(self):
        if self.steps == 4:
            for agent in self.agents:
                agent.memory = self.new(agent)
        self.agents.shuffle_do("step")


def shown(street):
    return [
        memory.get_prompt_ready()
        for agent in street.agents
        for memory in (agent.memory, agent.diary)
        if memory is not None
    ]


def ids(file, run=None):
    with open_run(file, run) as opened:
        found = [opened.history(agent=agent, as_records=True) for agent in (1, 2)]
    return [
        (record["id"], record["valid_to"]) for records in found for record in records
    ]


@pytest.mark.parametrize("memory", [c.__name__ for c in EVERY])
def test_a_recorded_run_goes_on_when_agents_get_a_new_memory(memory, tmp_path):
    file = str(tmp_path / "run.sqlite")
    street = lived(Street(memory, file=file, rng=1), 7)
    assert [a.memory.layer[-2:] for a in street.agents] == ["-3", "-3"]
    ended(street)
    found = [name for name, _ in ids(file)]
    base = street.agents[0].diary.layer.removesuffix("-2")
    assert {n.split("/")[1] for n in found} == {base, f"{base}-2", f"{base}-3"}
    assert found[0].split("/")[1] == base


@in_turn(memory=[c.__name__ for c in EVERY], again=[resume, fork])
def test_a_run_goes_on_with_each_memory_of_its_agents(memory, again, tmp_path):
    day = 5 if again is resume else 3
    whole = lived(Street(memory, file=str(tmp_path / "whole.sqlite"), rng=1), 8)
    ended(whole)
    file = str(tmp_path / "run.sqlite")
    ended(lived(Street(memory, file=file, rng=1), day))
    made = partial(Street, memory=memory)
    street = lived(again(made, file, diary=True, file=file, rng=1), 8 - day)
    ended(street)
    assert shown(street) == shown(whole)
    assert sorted(ids(file)) == sorted(ids(str(tmp_path / "whole.sqlite")))


def test_names_are_the_same_in_every_run_and_kept_by_a_copy():
    first, second = (lived(Street(rng=1), 6) for _ in range(2))
    twin = copy.deepcopy(first)
    for street in (first, second, twin):
        for agent in street.agents:
            assert (agent.memory.layer, agent.diary.layer) == (
                "episodic-3",
                "episodic-2",
            )
    for street in (first, twin):
        for agent in street.agents:
            assert EpisodicMemory(agent).layer == "episodic-4"
    assert copy.deepcopy(first.agents[0].memory).layer == "episodic-3"
