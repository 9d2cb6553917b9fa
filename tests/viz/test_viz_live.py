"""What can be shown of a running model, and what cannot."""

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import Services, ShortTermMemory, configure
from mesa_memory.viz import make_memory_component
from mesa_memory.viz.live import NOT_RECORDED, live_feed
from tests.support.recorded_town import RecordedTown


class Mixed(mesa.Model):
    """Agents with our memory, with Mesa-LLM's own, and with none."""

    def __init__(self, ours=1, theirs=1, none=1, **configured):
        super().__init__(rng=1)
        configure(self, llm="offline", **configured)
        for n in range(ours + theirs):
            agent = LLMAgent(self, CoTReasoning, "openai/none", api_base="http://x")
            if n < ours:
                agent.memory = ShortTermMemory(agent)
        for _ in range(none):
            mesa.Agent(self)

    def step(self):
        for agent in self.agents:
            if getattr(agent, "memory", None) is not None:
                agent.memory.add_to_memory("observation", {"seen": "rain"})


def test_a_recorded_model_is_shown_as_far_as_it_has_got():
    town = RecordedTown("", record=True, n=3)
    feed = live_feed(town)
    assert (feed.notes, feed.source.steps, feed.live) == ([], [], True)
    town.step()
    assert feed.refresh().steps == [1.0]
    Services.of(town).recorder.close()
    assert feed.refresh().steps == [1.0]
    assert not feed.live


def test_a_model_that_has_not_begun_is_recorded_in_memory(monkeypatch):
    model = Mixed(ours=2, theirs=0, none=0)
    feed = live_feed(model)
    model.step()
    assert feed.refresh().steps == [1.0]
    assert feed.source.agent_ids == [1, 2]
    Services.of(model).recorder.close()


def test_a_model_that_has_begun_unrecorded_says_what_to_do():
    model = Mixed(ours=1, theirs=0, none=0)
    model.step()
    feed = live_feed(model)
    assert feed.run is None
    assert feed.notes == [NOT_RECORDED]
    assert not feed.live
    assert Services.of(model).recorder is None


def test_agents_with_other_memories_are_named():
    model = Mixed(ours=1, theirs=2, none=3)
    feed = live_feed(model)
    (note,) = feed.notes
    assert "5 of 6 agents cannot be shown" in note
    assert "3 no memory" in note
    assert "2 mesa_llm's STLTMemory" in note
    Services.of(model).recorder.close()


def test_a_model_without_any_of_our_memories_is_not_recorded():
    feed = live_feed(Mixed(ours=0, theirs=1, none=0))
    assert feed.run is None
    assert "1 mesa_llm's STLTMemory" in feed.notes[1]


def test_a_view_that_does_not_exist_is_refused_by_name():
    with pytest.raises(
        ValueError, match=r"views are story, population, .*got 'dreams'"
    ):
        make_memory_component(["dreams"])
