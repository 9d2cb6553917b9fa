"""The tokens of one call, as its provider counted them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: where providers say how many prompt tokens they read from their cache: OpenAI and all
#: who speak its protocol, Anthropic, DeepSeek
_CACHED = (
    ("prompt_tokens_details", "cached_tokens"),
    ("cache_read_input_tokens",),
    ("prompt_cache_hit_tokens",),
)


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
        found = (_count(usage, *path) for path in _CACHED)
        cached = next((count for count in found if count is not None), None)
        if cached is not None and prompt is not None:
            cached = min(cached, prompt)
        return cls(prompt, _count(usage, "completion_tokens"), cached)


def tier_of(response: Any) -> str:
    """The service tier that was served, as a response says; empty if it does not."""
    for path in (("service_tier",), ("usage", "service_tier")):
        tier = _inside(response, *path)
        if isinstance(tier, str):
            return tier
    return ""


def _count(usage: Any, *path: str) -> int | None:
    """A number of tokens; None if what stands there is not one."""
    value = _inside(usage, *path)
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and value >= 0 else None


def _inside(given: Any, *path: str) -> Any:
    for name in path:
        if isinstance(given, Mapping):
            given = given.get(name)
        else:
            given = getattr(given, name, None)
    return given
