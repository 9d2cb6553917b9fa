"""Memories and layers that are pickled or copied with their agent, and go on."""

import copy
import importlib
import pickle
import pkgutil

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

import mesa_memory.memories
from mesa_memory import (
    ConversationMemory,
    Conversations,
    EpisodicMemory,
    EventStream,
    FactMemory,
    Facts,
    ImpressionMemory,
    Impressions,
    Layer,
    LayeredMemory,
    LongTermMemory,
    MemoryModule,
    NarrativeMemory,
    RunningSummary,
    ShortTermMemory,
    STLTMemory,
    Window,
    configure,
    register_policy,
)
from mesa_memory.layers import Reflection, Reflector
from mesa_memory.layers.chapters import Chapters
from mesa_memory.layers.summary import Story
from mesa_memory.memories.conversation import Surroundings
from mesa_memory.memories.long_term import PendingWindow
from tests.support.network import elsewhere  # noqa: F401 - guards every test here

README = {
    "short_term": ShortTermMemory,
    "stlt": STLTMemory,
    "long_term": LongTermMemory,
    "episodic": EpisodicMemory,
    "reflecting": lambda agent: EpisodicMemory(agent, reflection=Reflection()),
    "impression": ImpressionMemory,
    "fact": FactMemory,
    "layered": LayeredMemory,
    "conversation": ConversationMemory,
    "narrative": NarrativeMemory,
    "unimatrix": LayeredMemory.unimatrix,
    "story_engine": LayeredMemory.story_engine,
    "session": LayeredMemory.session,
    "generative_agent": LayeredMemory.generative_agent,
}
LAYERS = {
    Window: lambda: [Window()],
    PendingWindow: lambda: [PendingWindow()],
    Surroundings: lambda: [Window(), Surroundings()],
    RunningSummary: lambda: [window := Window(2), RunningSummary(window)],
    Story: lambda: [window := Window(None), Story(window, 20, 1)],
    Chapters: lambda: [
        window := Window(None),
        story := Story(window, 20, 1),
        Chapters(2, story),
    ],
    Conversations: lambda: [Window(), Conversations(idle_steps=1)],
    EventStream: lambda: [EventStream(reflector=Reflector(Reflection(), 5))],
    Facts: lambda: [Facts(summarised=True)],
    Impressions: lambda: [window := Window(), Impressions(window, 2)],
}


class Town(mesa.Model):
    """Two agents that hear of a mill each day."""

    def __init__(self, memory="short_term", execution="deferred", rng=None):
        super().__init__(rng=rng)
        configure(self, llm="offline", execution=execution)
        quiet = register_policy("quiet", lambda turn: "Nothing to do.")
        for _ in range(2):
            agent = LLMAgent(self, CoTReasoning, quiet)
            agent.memory = README[memory](agent)

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
    for memory in README.values():
        town = lived(memory, execution)
        agent = pickle.loads(pickle.dumps(next(iter(town.agents))))
        both_go_on(town, agent.model)


def test_a_memory_of_a_copied_model_goes_on():
    for memory in README.values():
        town = lived(memory)
        both_go_on(town, copy.deepcopy(town))


@pytest.mark.parametrize("host", [MemoryModule, LayeredMemory])
def test_a_layer_that_was_pickled_goes_on(host):
    for made in LAYERS.values():
        layers = made()
        if not any(isinstance(layer, Window) for layer in layers):
            layers = [Window(), *layers]
        town = lived(lambda agent: host(agent, layers=copy.deepcopy(layers)))
        both_go_on(town, pickle.loads(pickle.dumps(town)))


def test_every_layer_of_the_package_is_in_this_table():
    for module in pkgutil.iter_modules(mesa_memory.memories.__path__):
        importlib.import_module(f"mesa_memory.memories.{module.name}")
    ours = {kind for kind in kinds_of(Layer) if "mesa_memory" in kind.__module__}
    assert ours == set(LAYERS)


def kinds_of(base):
    for kind in base.__subclasses__():
        yield kind
        yield from kinds_of(kind)


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
