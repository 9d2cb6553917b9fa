"""Tokens as providers count them, each in its own words, and as texts are counted here."""

from types import SimpleNamespace

import pytest

from mesa_memory.core.requests import Reply, TokenCounts, tier_of
from mesa_memory.llm.tokens import count_tokens

OPENAI = {"prompt_tokens_details": {"cached_tokens": 60}}
ANTHROPIC = {"cache_read_input_tokens": 60}
DEEPSEEK = {"prompt_cache_hit_tokens": 60, "prompt_cache_miss_tokens": 40}
SENT = {"prompt_tokens": 100, "completion_tokens": 7}


def as_objects(given):
    """Nested mappings as objects with attributes."""
    made = {k: as_objects(v) if isinstance(v, dict) else v for k, v in given.items()}
    return SimpleNamespace(**made)


@pytest.mark.parametrize(
    ("said", "cached"),
    [
        (OPENAI, 60),
        (ANTHROPIC, 60),
        (DEEPSEEK, 60),
        ({"cache_read_input_tokens": 0}, 0),
        ({"prompt_cache_hit_tokens": 10**9}, 100),  # no more than were sent
    ],
)
@pytest.mark.parametrize("form", [dict, as_objects])
def test_cached_tokens_are_found_wherever_a_provider_says_them(said, cached, form):
    assert TokenCounts.of(form(SENT | said)) == TokenCounts(100, 7, cached)


def test_what_is_not_said_is_unknown_and_not_zero():
    cases = [
        None,
        {},
        {"prompt_tokens_details": None},
        {"prompt_tokens_details": {"cached_tokens": "many"}},
        {"prompt_tokens_details": {"cached_tokens": -1}},
        {"prompt_cache_hit_tokens": True},
        "usage",
    ]
    for usage in cases:
        assert TokenCounts.of(usage) == TokenCounts()


@pytest.mark.parametrize(
    "count",
    [
        *(2**63, 10**400, 10**12 + 1, -1, 1.5, float("nan"), float("inf"), True, "12"),
        [12],
    ],
)
def test_what_cannot_be_a_count_is_unknown(count):
    said = {"prompt_tokens": count, "completion_tokens": count}
    said["prompt_tokens_details"] = {"cached_tokens": count}
    assert TokenCounts.of(said) == TokenCounts()
    reply = Reply("ok", "m", count, count, cached_tokens=count)
    assert (reply.prompt_tokens, reply.completion_tokens) == (None, None)
    assert reply.cached_tokens is None


@pytest.mark.parametrize("cost", [-1.0, float("nan"), float("inf")])
def test_a_cost_that_cannot_be_true_is_unknown(cost):
    assert Reply("ok", cost=cost).cost is None


def test_the_tier_is_the_one_that_was_served():
    cases = [
        ({"service_tier": "flex"}, "flex"),
        ({"usage": {"service_tier": "standard"}}, "standard"),
        ({"service_tier": None, "usage": {}}, ""),
        (SimpleNamespace(service_tier="priority"), "priority"),
        ({"service_tier": 3}, ""),
        (None, ""),
    ]
    for response, tier in cases:
        assert tier_of(response) == tier


# -- the tokens of a text by the tokenizer of the model that is asked ----------------------

TEXT = "会议改到星期二九点 hello world"


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4.1-mini", "o3", "gpt-5"])
@pytest.mark.parametrize("before", ["", "openrouter/openai/", "github/"])
def test_a_model_of_openai_is_counted_the_same_under_each_of_its_names(before, model):
    assert count_tokens(TEXT, before + model) == count_tokens(TEXT, f"openai/{model}")
    assert count_tokens("hello world", before + model) == 2
    assert count_tokens("antidisestablishmentarianism", before + model) == 6


@pytest.mark.parametrize("model", [None, "", "mistral/small", "ollama/llama3"])
def test_another_model_is_estimated_by_bytes(model):
    assert count_tokens(TEXT, model) == 10
    assert count_tokens("", model) == 0
