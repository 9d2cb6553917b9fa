"""What a call costs: fresh and cached prompt tokens, reply tokens, service tiers."""

import pytest

from mesa_memory.llm import prices as pricing
from mesa_memory.llm.prices import Price

FULL = Price(
    prompt=1.0, reply=10.0, cached=0.1, tiers={"flex": Price(0.5, 5.0, cached=0.05)}
)


def test_a_tier_has_prices_of_its_own_and_an_unknown_one_the_plain_price():
    assert FULL.cost(100, 3, 80, "flex") == pytest.approx(10 + 4 + 15)
    assert FULL.cost(100, 3, 80, "Flex") == FULL.cost(100, 3, 80, "flex")
    for tier in ("", "default", "scale"):
        assert FULL.cost(100, 3, 80, tier) == FULL.cost(100, 3, 80)


def test_more_cached_tokens_than_the_prompt_has_are_the_prompt():
    assert FULL.cost(100, 0, cached_tokens=1000) == pytest.approx(10.0)


@pytest.mark.parametrize("given", [1.0, "cheap", (1,), (1, 2, 3), {}])
def test_what_is_no_price_is_refused_with_what_would_be_one(given):
    with pytest.raises(ValueError, match="two numbers"):
        Price.of(given)


@pytest.mark.parametrize("given", [(-1, 1), (1, float("nan")), ("a", 1), (None, 1)])
def test_a_price_is_made_of_numbers(given):
    with pytest.raises(ValueError, match="the price of a token"):
        Price.of(given)


def test_the_list_has_cached_tokens_and_tiers():
    price = pricing.price("openai/gpt-5-mini")
    assert price.cached == pytest.approx(price.prompt / 10)
    flex = price.in_tier("flex")
    for name in ("prompt", "reply", "cached"):
        assert getattr(flex, name) == pytest.approx(getattr(price, name) / 2)
    assert pricing.price("anthropic/claude-sonnet-4-5").written == pytest.approx(
        1.25 * pricing.price("anthropic/claude-sonnet-4-5").prompt
    )
    assert pricing.price("openai/nobodys-model") is None
