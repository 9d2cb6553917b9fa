"""Mesa-LLM's defects D39-D46: the console, keys, copies, leaks."""

import copy
import gc
import pickle
import weakref
from dataclasses import asdict

from tests.support.models import (
    Citizen,
    StubLLM,
    Town,
    citizen,
    each,
    grades,
    live,
    ours,
    said,
    seen,
)
from tests.support.waiting import until

ALL = ("ShortTermMemory", "STLTMemory", "LongTermMemory", "EpisodicMemory")


@each("ShortTermMemory")
def test_d39_nothing_is_shown_unless_asked_for(make, capsys):
    agent = citizen()
    agent.memory = make.cls(agent)
    live(agent.memory, said("good day"))
    assert capsys.readouterr().out == ""


@each(*ALL[:3], raises=AttributeError)
def test_d41_a_model_that_has_only_a_time_will_do(make):
    agent = citizen()
    memory = make(agent, StubLLM(answer=grades(lambda _: 3)))
    del agent.model.steps
    for agent.model.time in (1.5, 2.5):
        memory.process_step(pre_step=True)
        memory.add_to_memory(*said(f"at {agent.model.time}"))
        memory.process_step()
    assert [message.step for message in memory.messages()] == [1.5, 2.5]


@each("STLTMemory", "LongTermMemory", "EpisodicMemory", raises=ValueError)
def test_d42_a_memory_can_be_made_without_a_key(make, monkeypatch):
    agent = citizen()
    monkeypatch.delenv("OPENAI_API_KEY")
    assert make(agent).agent is agent


@each("STLTMemory", "LongTermMemory")
def test_d42_the_task_told_to_the_summariser_is_the_current_one(make):
    llm, agent = StubLLM(), citizen(step_prompt="Find water.")
    memory = make(agent, llm)
    agent.step_prompt = "Find shade."
    for number in range(8):
        live(memory, seen(number))
    memory.get_prompt_ready()
    assert "Find shade." in llm.asked
    assert "Find water." not in llm.asked


@each("EpisodicMemory", raises=TypeError)
def test_d42_episodic_memory_takes_additive_event_types(make):
    memory = make(citizen(), additive_event_types=["observation"])
    assert memory.additive_event_types == {"observation"}


def _of_a_crowd(make):
    town = Town()
    crowd = [Citizen(town) for _ in range(100)]
    memory = make(crowd[0], StubLLM(answer='{"grade": 3}'))
    live(memory, seen("a crowd"))
    memory.get_prompt_ready()
    held = getattr(memory, "memory_entries", None) or memory.short_term_memory
    return memory, held[-1]


@each("ShortTermMemory", "STLTMemory", "EpisodicMemory")
def test_d43_an_entry_takes_neither_agent_nor_model_along(make):
    _, entry = _of_a_crowd(make)
    assert len(pickle.dumps(entry)) < 5_000
    assert pickle.loads(pickle.dumps(entry)).content == entry.content
    assert "agent" not in asdict(entry)


@each("ShortTermMemory", "STLTMemory", "EpisodicMemory")
def test_d43_a_copy_of_a_memory_is_of_the_same_agent(make):
    memory, entry = _of_a_crowd(make)
    twin = copy.deepcopy(memory)
    assert twin.agent is memory.agent
    assert entry.agent is memory.agent
    assert twin.get_prompt_ready() == memory.get_prompt_ready()


def _freed(watched):
    """True once the object is gone, also if a background thread still lets it go."""

    def gone():
        gc.collect()
        return watched() is None

    return until(gone, "it is still held")


def _lived_in(town, make, answer):
    """An agent that has used its memory, read it, and been removed."""
    agent = Citizen(town)
    memory = make(agent, StubLLM(answer=answer))
    live(memory, said("farewell"))
    memory.get_prompt_ready()
    agent.remove()
    return weakref.ref(agent)


@ours(*ALL, "ImpressionMemory", "ConversationMemory", "NarrativeMemory")
def test_d44_removed_agents_and_finished_models_are_freed(make):
    town = Town()
    answer = '{"grade": 3}' if make.name == "EpisodicMemory" else "A summary."
    watched = _lived_in(town, make, answer)
    assert _freed(watched)
    watched = weakref.ref(town)
    del town
    assert _freed(watched)


@ours("LongTermMemory")
def test_d44_a_log_that_keeps_its_records_keeps_no_agent(make, caplog):
    watched = _lived_in(Town(), make, answer="")
    assert "tried again" in caplog.text
    assert _freed(watched)
