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
    LongTermMemory,
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
from tests.support.network import elsewhere  # noqa: F401 - guards every test here
from tests.support.turns import in_turn

NAN = float("nan")
LIMITS = ("event_chars", "section_chars", "history_capacity")
CAPACITIES = [
    (ShortTermMemory, "n"),
    (STLTMemory, "short_term_capacity"),
    (STLTMemory, "consolidation_capacity"),
    (EpisodicMemory, "max_capacity"),
    (EpisodicMemory, "considered_entries"),
    (ImpressionMemory, "update_every"),
    (ImpressionMemory, "n"),
    (ImpressionMemory, "impression_chars"),
    (FactMemory, "n"),
    (FactMemory, "direct_tokens"),
    (FactMemory, "considered_facts"),
    (ConversationMemory, "short_term_turns"),
    (ConversationMemory, "n"),
    (ConversationMemory, "summary_chars"),
    (NarrativeMemory, "story_tokens"),
    (NarrativeMemory, "story_chars"),
    (NarrativeMemory, "recap_chars"),
    *((cls, name) for cls in EVERY for name in LIMITS),
]
NO_CAPACITIES = (0, -1, 2.5, True, False, "5", None, NAN, [3])


@pytest.fixture
def agent():
    return Town("short_term").citizens[0]


def refused(make, name, value):
    """The call fails and names argument and value."""
    with pytest.raises((ValueError, TypeError)) as info:
        make(**{name: value})
    text = str(info.value)
    assert name in text
    assert re.search(rf"(?<!\w){re.escape(repr(value))}(?!\w)", text), text


@pytest.mark.parametrize(
    ("cls", "name"), CAPACITIES, ids=[f"{c.__name__}-{n}" for c, n in CAPACITIES]
)
def test_a_wrong_capacity_is_refused(cls, name, agent):
    for value in NO_CAPACITIES:
        if name == "consolidation_capacity" and value in (0, False):
            continue  # 0 means no summary, as in Mesa-LLM
        refused(partial(cls, agent), name, value)


@pytest.mark.parametrize(
    ("cls", "name", "values"),
    [
        (EpisodicMemory, "grade_context", (-1, "many", 2.5)),
        (EpisodicMemory, "reflect_threshold", (0, NAN)),
        (ConversationMemory, "recent", (-1, None)),
        (ConversationMemory, "recall", (-1, 1.5)),
        (ConversationMemory, "idle_steps", (-1, NAN)),
        (NarrativeMemory, "keep_last", (-1,)),
        (NarrativeMemory, "chapters", (0, -1, 2.5, True, "often", "model", None, int, [3])),
        (LayeredMemory, "budget", (99, 0, -1, 2.5, True, "much", None)),
    ],
)  # fmt: skip
def test_a_wrong_number_of_a_memory_is_refused(cls, name, values, agent):
    for value in values:
        refused(partial(cls, agent), name, value)


def test_a_wrong_decay_is_refused(agent):
    for value in (0, -0.5, 1.01, NAN, float("inf")):
        with pytest.raises(ValueError, match=f"decay must be.*got {value}"):
            EpisodicMemory(agent, recency_decay=value)


@pytest.mark.parametrize(
    ("make", "name", "value"),
    [
        (STLTMemory, "consolidation", "every"),
        (STLTMemory, "consolidation", EveryBatch),
        (STLTMemory, "consolidation", 5),
        (EpisodicMemory, "importance", "gpt"),
        (EpisodicMemory, "importance", 3),
        (EpisodicMemory, "importance", None),
        (ConversationMemory, "scoring", "best"),
        (ShortTermMemory, "capacity", 5),
        (LongTermMemory, "n", 5),
        (FactMemory, "gate", "fact"),
        (FactMemory, "gate", ["true"]),
        (FactMemory, "gate", 3),
        (FactMemory, "max_facts", 0),
        (FactMemory, "max_facts", "10"),
    ],
)
def test_a_wrong_argument_of_a_memory_is_refused(make, name, value, agent):
    with pytest.raises((ValueError, TypeError)) as info:
        make(agent, **{name: value})
    assert name in str(info.value)
    assert repr(value) in str(info.value) or isinstance(info.value, TypeError)


WRONG = [
    (EveryBatch, "size", (0, -1, "5", 2.5, True, None)),
    (OverTokens, "limit", (0, "5")),
    (OverTokens, "keep_last", (-1, 1.5)),
    (FrontHalf, "max_entries", (0, 2.5)),
    (FrontHalf, "fraction", (0, 1.5, "half")),
    (Reflection.questions, "last", (0,)),
    (Reflection.questions, "insights", (0,)),
    (Reflection.questions, "questions", (0,)),
    (Budget, "calls", (-1, "5")),
    (Budget, "tokens", (-5,)),
    (Budget, "cost", (-0.5, NAN)),
    (LLMSettings, "timeout", ("5", NAN)),
    (LLMSettings, "attempts", (2.5,)),
    (LLMSettings, "concurrency", (None, True)),
    (LLMSettings, "backoff", (None,)),
    (LLMSettings, "options", ("top_p=1",)),
    (LLMSettings, "fallbacks", (3,)),
    (partial(Recording, "run.sqlite"), "on_failure", ("ignore",)),
    (partial(Recording, "run.sqlite"), "journal", ("none",)),
]


def test_a_wrong_policy_budget_or_setting_is_refused():
    for make, name, values in WRONG:
        for value in values:
            refused(make, name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("execution", "threads"),
        ("on_failure", "ignore"),
        ("llm", "gpt"),
        ("llm", object),
        ("llm", 5),
        ("max_pending_steps", 0),
        ("timeout", 0),
        ("timeout", -1),
        ("attempts", 0),
        ("deadline", 0),
        ("concurrency", 0),
        ("backoff", -0.1),
        ("fallbacks", "openai/other"),
        ("cache", True),
        ("cache", 3),
        ("cache", ""),
        ("cache", ":memory:"),
        ("replicate", -1),
        ("replicate", "two"),
    ],
)
def test_a_wrong_setting_is_refused_and_changes_nothing(name, value, agent):
    services = Services.of(agent.model)
    before = {k: v for k, v in vars(services).items() if k != "_litellm"}
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
