"""Wrong arguments are refused where they are given, with the value."""

import re
from functools import partial

import pytest

from mesa_memory import (
    Budget,
    ConversationMemory,
    EpisodicMemory,
    FactMemory,
    ImpressionMemory,
    LayeredMemory,
    NarrativeMemory,
    Recording,
    Services,
    ShortTermMemory,
    STLTMemory,
    configure,
)
from mesa_memory.layers import EveryBatch, FrontHalf, OverTokens, Reflection
from mesa_memory.llm import LLMSettings
from tests.support.classes import EVERY
from tests.support.fleet import MEMORIES, Town
from tests.support.turns import in_turn

NAN = float("nan")
NO_CAPACITIES = (0, -1, 2.5, True, False, "5", None, NAN, [3])
CAPACITIES = [
    (ShortTermMemory, "n"),
    (STLTMemory, "short_term_capacity"),
    (EpisodicMemory, "max_capacity"),
    (EpisodicMemory, "considered_entries"),
    (ImpressionMemory, "update_every"),
    (FactMemory, "direct_tokens"),
    (ConversationMemory, "short_term_turns"),
    (NarrativeMemory, "story_chars"),
    *((cls, "section_chars") for cls in EVERY),
]
#: what a memory's argument must not be; the error names it and the value
WRONG_MEMORIES = [
    *((cls, name, NO_CAPACITIES) for cls, name in CAPACITIES),
    (STLTMemory, "consolidation_capacity", (-1, 2.5, "5", None)),  # 0 is Mesa-LLM's
    (STLTMemory, "consolidation", ("every", 5)),
    (EpisodicMemory, "grade_context", (-1, "many", 2.5)),
    (EpisodicMemory, "reflect_threshold", (0, NAN)),
    (EpisodicMemory, "importance", ("gpt", 3, None)),
    (ConversationMemory, "recent", (-1, None)),
    (ConversationMemory, "idle_steps", (-1, NAN)),
    (ConversationMemory, "scoring", ("best",)),
    (NarrativeMemory, "chapters", (0, 2.5, True, "often", "model", None, [3])),
    (LayeredMemory, "budget", (99, 0, -1, 2.5, True, "much", None)),
    (FactMemory, "gate", ("fact", ["true"], 3)),
    (FactMemory, "max_facts", (0, "10")),
]
WRONG = [
    (EveryBatch, "size", (0, -1, "5", 2.5, True, None)),
    (OverTokens, "keep_last", (-1, 1.5)),
    (FrontHalf, "fraction", (0, 1.5, "half")),
    (Reflection.questions, "last", (0,)),
    (Budget, "calls", (-1, "5")),
    (Budget, "cost", (-0.5, NAN)),
    (LLMSettings, "timeout", ("5", NAN, 0, -1)),
    (LLMSettings, "attempts", (2.5,)),
    (LLMSettings, "concurrency", (None, True)),
    (LLMSettings, "options", ("top_p=1",)),
    (LLMSettings, "fallbacks", (3,)),
    (partial(Recording, "run.sqlite"), "on_failure", ("ignore",)),
    (partial(Recording, "run.sqlite"), "journal", ("none",)),
]


@pytest.fixture
def agent():
    return Town("short_term").citizens[0]


def test_a_wrong_argument_is_refused_with_its_name_and_value(agent):
    of_agent = [(partial(cls, agent), *more) for cls, *more in WRONG_MEMORIES]
    for make, name, values in [*of_agent, *WRONG]:
        for value in values:
            with pytest.raises((ValueError, TypeError)) as info:
                make(**{name: value})
            text = str(info.value)
            assert name in text
            assert re.search(rf"(?<!\w){re.escape(repr(value))}(?!\w)", text), text


WRONG_SETTINGS = {
    "execution": "threads", "on_failure": "ignore", "llm": object,
    "max_pending_steps": 0, "timeout": 0, "concurrency": 0, "backoff": -0.1,
    "fallbacks": "openai/other", "cache": ":memory:", "replicate": "two",
}  # fmt: skip


def test_a_wrong_setting_is_refused_and_changes_nothing(agent):
    services = Services.of(agent.model)
    before = {k: v for k, v in vars(services).items() if k != "_litellm"}
    for name, value in WRONG_SETTINGS.items():
        with pytest.raises((ValueError, TypeError)) as info:
            configure(agent.model, **{name: value})
        assert name in str(info.value)
        assert repr(value) in str(info.value)
    assert {k: v for k, v in vars(services).items() if k != "_litellm"} == before


@in_turn(memory=MEMORIES, content=["raw", None, ["a"], 5, {1, 2}, b"x"])
async def test_content_that_is_no_dict_is_refused(memory, content):
    (agent,) = Town(memory).citizens
    text = f"Expected 'content' to be dict, got {type(content).__name__}: {content!r}"
    with pytest.raises(TypeError) as info:
        agent.memory.add_to_memory("message", content)
    assert str(info.value) == text
    with pytest.raises(TypeError) as info:
        await agent.memory.aadd_to_memory("message", content)
    assert str(info.value) == text
    assert agent.model.events() == []


def test_wrong_requests_of_a_reader_are_refused():
    for memory in MEMORIES:
        (agent,) = Town(memory).citizens
        with pytest.raises(ValueError, match="got -1"):
            agent.memory.messages(last=-1)
        if memory == "episodic":
            with pytest.raises(ValueError, match="got -1"):
                agent.memory.retrieve_top_k_entries(-1)
