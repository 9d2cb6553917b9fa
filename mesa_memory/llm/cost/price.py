"""The price of a model's tokens: prompt, reply, cached prompt, and by service tier."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mesa_memory.core.validate import checked_number


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
