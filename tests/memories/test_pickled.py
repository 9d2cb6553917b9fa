"""Memories and layers that are pickled or copied with their agent, and go on."""

import copy
import pickle

import mesa
import pytest

from mesa_memory import Layer, LayeredMemory, MemoryModule, Window, configure
from tests.memories.test_contract import LAYERS, MEMORIES
from tests.support.single import settle


class Town(mesa.Model):
    """Two agents that hear of a mill each day."""

    def __init__(self, memory="short_term", execution="deferred", rng=None):
        super().__init__(rng=rng)
        configure(self, llm="offline", execution=execution)
        settle(self, MEMORIES[memory], 2)

    def step(self):
        for agent in self.agents:
            hear(agent.memory, f"Mill {self.steps} burned down, says number 4711.")


def hear(memory, text):
    memory.add_to_memory("message", {"message": text, "sender": 2})
    seen = {"self_state": {}, "local_state": {"LLMAgent 2": {}}}
    memory.add_to_memory("observation", seen)
    memory.process_step()


def lived(memory, execution="deferred", steps=6):
    town = Town(execution=execution, rng=1)
    for agent in town.agents:
        agent.memory = memory(agent)
    for _ in range(steps):
        town.step()
    return town


def both_go_on(town, twin):
    """The twin remembers the same, and the same comes of the same events."""
    first = [next(iter(model.agents)) for model in (town, twin)]
    shown = [agent.memory.get_prompt_ready() for agent in first]
    assert "4711" in shown[0]
    assert shown[0] == shown[1]
    for model in (town, twin):
        for _ in range(3):
            model.step()
    after = [agent.memory.get_prompt_ready() for agent in first]
    assert after[0] == after[1] != shown[0]
    ids = [[r.id for r in agent.memory.current_records()] for agent in first]
    assert ids[0] == ids[1]


@pytest.mark.parametrize("execution", ["blocking", "deferred"])
def test_a_memory_that_was_pickled_with_its_agent_goes_on(execution):
    for memory in MEMORIES.values():
        town = lived(memory, execution)
        agent = pickle.loads(pickle.dumps(next(iter(town.agents))))
        both_go_on(town, agent.model)


def test_a_memory_of_a_copied_model_goes_on():
    for memory in MEMORIES.values():
        town = lived(memory)
        both_go_on(town, copy.deepcopy(town))


@pytest.mark.parametrize("host", [MemoryModule, LayeredMemory])
def test_a_layer_that_was_pickled_goes_on(host):
    for make in LAYERS.values():
        made = make()
        layers = [made] if isinstance(made, Layer) else made
        if not any(isinstance(layer, Window) for layer in layers):
            layers = [Window(), *layers]
        town = lived(lambda agent: host(agent, layers=copy.deepcopy(layers)))
        both_go_on(town, pickle.loads(pickle.dumps(town)))


def day(model):
    return model.steps


def memory_of(agent):
    return agent.memory


class Counted(Town):
    """Gives its memories to a data collector, as a model in a batch does.

    The reporters are functions of a module: Mesa cannot pickle its own for a name.
    """

    def __init__(self, memory, rng=None):
        super().__init__(memory, rng=rng)
        self.datacollector = mesa.DataCollector({"day": day}, {"memory": memory_of})

    def step(self):
        super().step()
        self.datacollector.collect(self)


def test_a_batch_in_processes_gives_the_memories_back():
    found = mesa.batch_run(
        Counted,
        parameters={"memory": ["long_term", "layered"]},
        rng=[1],
        number_processes=2,
        max_steps=3,
        display_progress=False,
    )
    assert len(found) == 4
    for row in found:
        assert "4711" in row["memory"].get_prompt_ready()
        hear(row["memory"], "It is built again.")
        assert "built again" in row["memory"].get_prompt_ready()
