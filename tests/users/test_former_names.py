"""Names that have changed go on working for one release, and say what to write."""

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

import mesa_memory
from mesa_memory import Run, ScoredRecord, ShortTermMemory, configure, register_policy


def test_a_recalled_record_has_a_new_name():
    with pytest.warns(DeprecationWarning, match="is called ScoredRecord now"):
        assert mesa_memory.Recalled is ScoredRecord


def test_to_look_without_being_noticed_has_a_new_name():
    model = mesa.Model(rng=1)
    configure(model, llm="offline")
    name = register_policy("quiet", lambda turn: "Nothing to do.")
    agent = LLMAgent(model, CoTReasoning, name)
    agent.memory = ShortTermMemory(agent)
    agent.memory.add_to_memory("message", {"message": "the dam broke", "sender": 4})
    with agent.memory.peek():
        shown = agent.memory.get_prompt_ready()
    with pytest.warns(DeprecationWarning, match=r"memory\.peek\(\)"):
        looking = agent.memory.unnoticed()
    with looking:
        assert agent.memory.get_prompt_ready() == shown


def test_the_evidence_of_a_record_has_two_names():
    assert Run.because is Run.provenance
