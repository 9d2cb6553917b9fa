"""The price of a model's tokens, and litellm's list of prices.

An unknown cost is None, never zero.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from mesa_memory.core.requests import TokenCounts
from mesa_memory.core.validate import checked_number
from mesa_memory.hosts.litellm import response_cost


@dataclass(frozen=True)
class Price:
    """US dollars per token of one model.

    Attributes:
        prompt: a token of the prompt.
        reply: a token of the reply.
        cached: a token of the prompt that the provider reads from its cache; None is
            ``prompt``.
        written: a token of the prompt that the provider writes to its cache; None is
            ``prompt``.
        tiers: what tokens cost in a service tier, by its name, such as ``"flex"``. A
            tier without a price costs what the model costs without one.
    """

    prompt: float
    reply: float
    cached: float | None = None
    written: float | None = None
    tiers: Mapping[str, "Price"] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("prompt", "reply", "cached", "written"):
            value = getattr(self, name)
            if value is not None or name in ("prompt", "reply"):
                checked_number(f"the price of a token ({name})", value)

    @classmethod
    def of(cls, given: Any) -> "Price | None":
        """A price as a client of one's own gives it.

        Args:
            given: a price, or US dollars per prompt token and per reply token; None
                unknown.

        Raises:
            ValueError: for anything else.
        """
        if given is None or isinstance(given, cls):
            return given
        if isinstance(given, tuple | list) and len(given) == 2:
            return cls(*given)
        raise ValueError(
            "a price is a Price(prompt, reply, cached), the two numbers (US dollars "
            f"per prompt token, per reply token), or None if unknown; got {given!r}"
        )

    def in_tier(self, tier: str) -> "Price":
        """The price in a service tier."""
        return self.tiers.get(tier.lower(), self)

    def cost(
        self,
        prompt_tokens: float,
        completion_tokens: float,
        cached_tokens: float = 0,
        tier: str = "",
    ) -> float:
        """US dollars for one call.

        Args:
            prompt_tokens: all of the prompt, those read from the cache included.
            cached_tokens: how many of them were read from the cache.
            tier: the service tier that was served; empty if unknown.
        """
        own = self.in_tier(tier) if self.tiers else self
        cached_tokens = min(cached_tokens, prompt_tokens)
        read = own.prompt if own.cached is None else own.cached
        fresh = prompt_tokens - cached_tokens
        return fresh * own.prompt + cached_tokens * read + completion_tokens * own.reply


#: what a model in this process costs
FREE = Price(0.0, 0.0)


#: the service tiers for which the list may have prices
TIERS = ("flex", "priority")


@cache
def price(model: str) -> Price | None:
    """The price of the model's tokens; None if unknown."""
    import litellm  # takes seconds, which a budget alone does not need

    try:
        info: Any = litellm.get_model_info(model)
    except Exception:  # litellm raises a bare Exception for an unmapped model
        return None
    prompt, reply = info["input_cost_per_token"], info["output_cost_per_token"]
    known = prompt is not None and reply is not None
    # A model that litellm routes but does not list comes back as free.
    if not known or not (prompt or listed_as_free(model)):
        return None
    own = _listed(info, "")
    tiers = {name: _listed(info, f"_{name}") for name in TIERS}
    return replace(own, tiers={n: given for n, given in tiers.items() if given != own})


def _listed(info: dict[str, Any], suffix: str) -> Price:
    """The price of a tier; at the normal price where the list lacks it."""

    def said(name: str) -> float | None:
        given = info.get(f"{name}{suffix}")
        given = info.get(name) if given is None else given
        return None if given is None else float(given)

    return Price(
        said("input_cost_per_token") or 0.0,
        said("output_cost_per_token") or 0.0,
        said("cache_read_input_token_cost"),
        # Where the list says 0 for writing, it means that nothing is charged besides.
        said("cache_creation_input_token_cost") or None,
    )


def cost(model: str, counts: TokenCounts, tier: str) -> float | None:
    """US dollars, as far as the model's price and the tokens are known."""
    known = price(model)
    # No prompt is empty: a provider that says 0 has not counted.
    if known is None or not counts.prompt or counts.completion is None:
        return None
    return known.cost(counts.prompt, counts.completion, counts.cached or 0, tier)


def litellm_cost(
    response: Any, model: str, counts: TokenCounts, tier: str
) -> float | None:
    """US dollars as litellm worked them out; None where it knows no price.

    litellm says 0 for an unknown price, too; a free model is one it lists as free. It
    takes the name that the server says, even if that is another model's name.
    """
    named = getattr(response, "model", None)
    said = price(named) if isinstance(named, str) and named else None
    if said is not None and said != price(model):
        return cost(model, counts, tier)
    given = response_cost(response)
    return given if given or listed_as_free(model) else None


@cache
def takes_schema(model: str) -> bool:
    """True if the provider is known to follow a JSON schema."""
    import litellm

    return bool(litellm.supports_response_schema(model))


@cache
def listed_as_free(model: str) -> bool:
    """True if the list has this model, at no price."""
    import litellm

    return litellm.model_cost.get(model, {}).get("input_cost_per_token") == 0
