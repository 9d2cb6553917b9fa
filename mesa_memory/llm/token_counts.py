"""The tokens of one call, as its provider counted them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: where providers say how many prompt tokens they read from their cache: Anthropic,
#: DeepSeek; OpenAI and all who speak its protocol say it among the details
_CACHED = ("cache_read_input_tokens", "prompt_cache_hit_tokens")


@dataclass(frozen=True)
class TokenCounts:
    """Tokens of one call; None where the provider does not say.

    Attributes:
        prompt: of the whole prompt, cached ones included.
        completion: of the reply.
        cached: of the prompt, read from the provider's cache.
    """

    prompt: int | None = None
    completion: int | None = None
    cached: int | None = None

    @classmethod
    def of(cls, usage: Any) -> "TokenCounts":
        """The counts in a reply's ``usage``: a mapping or an object; None has none."""
        prompt = _count(usage, "prompt_tokens")
        cached = _count(_inside(usage, "prompt_tokens_details"), "cached_tokens")
        for name in _CACHED:
            if cached is not None:
                break
            cached = _count(usage, name)
        if cached is not None and prompt is not None:
            cached = min(cached, prompt)
        return cls(prompt, _count(usage, "completion_tokens"), cached)


def tier_of(response: Any) -> str:
    """The service tier that was served, as a response says; empty if it does not."""
    for said in (response, _inside(response, "usage")):
        tier = _inside(said, "service_tier")
        if isinstance(tier, str):
            return tier
    return ""


def _count(usage: Any, name: str) -> int | None:
    """A number of tokens; None if what stands there is not one."""
    value = _inside(usage, name)
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and value >= 0 else None


def _inside(given: Any, name: str) -> Any:
    # The commonest first: to ask for an abstract class takes its time.
    if given is None:
        return None
    if type(given) is dict or isinstance(given, Mapping):
        return given.get(name)
    return getattr(given, name, None)
