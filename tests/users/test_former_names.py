"""Names that have changed go on working for one release, and say what to write."""

from dataclasses import replace

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

import mesa_memory
from mesa_memory import (
    Run,
    ScoredRecord,
    Scoring,
    ShortTermMemory,
    configure,
    register_policy,
)


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


FORMER_SETTINGS = {
    "asked": ("time_match", 0.7),
    "named": ("speaker_boost", 0.2),
    "neighbours": ("context_weights", (0.1, 0.0)),
    "rescale": ("min_max", True),
    "flat": ("constant_value", 0.5),
}


@pytest.mark.parametrize("former", FORMER_SETTINGS)
def test_settings_of_a_scoring_have_new_names(former):
    name, value = FORMER_SETTINGS[former]
    now = Scoring(**{name: value})
    with pytest.warns(DeprecationWarning, match=f"{former} of a Scoring is .*{name}"):
        assert Scoring(**{former: value}) == now
    with pytest.warns(DeprecationWarning, match=name):
        assert replace(Scoring(), **{former: value}) == now
    with pytest.warns(DeprecationWarning, match=name) as told:
        assert getattr(now, former) == value
    assert told[0].filename == __file__


def test_a_scoring_is_recorded_under_the_names_of_older_runs():
    settings = Scoring(time_match=0.7, min_max=True).settings()
    assert settings["asked"] == 0.7
    assert settings["rescale"] is True
    with pytest.warns(DeprecationWarning):
        assert Scoring(**settings) == Scoring(time_match=0.7, min_max=True)
