"""The tokens of one call, as its provider counted them."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mesa_memory.core.reply import token_count

#: where providers say how many prompt tokens they read from their cache: Anthropic,
#: DeepSeek; OpenAI and all who speak its protocol say it among the details
_CACHED = ("cache_read_input_tokens", "prompt_cache_hit_tokens")


class TokenCounts(NamedTuple):
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
        """The counts in a reply's ``usage``: a mapping or an object; of None, unknown."""
        said = _getter(usage)
        prompt, cached = token_count(said("prompt_tokens")), None
        if details := said("prompt_tokens_details"):
            cached = token_count(_getter(details)("cached_tokens"))
        for name in _CACHED:
            if cached is None and (given := said(name)) is not None:
                cached = token_count(given)
        if cached is not None and prompt is not None:
            cached = min(cached, prompt)
        return cls(prompt, token_count(said("completion_tokens")), cached)


def tier_of(response: Any) -> str:
    """The service tier that was served, as a response says; empty if it does not."""
    said = _getter(response)
    tier = said("service_tier")
    if not isinstance(tier, str) and (usage := said("usage")) is not None:
        tier = _getter(usage)("service_tier")
    return tier if isinstance(tier, str) else ""


def _getter(given: Any) -> Callable[[str], Any]:
    """Returns the value of a name in a mapping or an object; None if it is missing."""
    # The commonest first: to ask for an abstract class takes its time.
    if type(given) is dict or isinstance(given, Mapping):
        return given.get
    return lambda name: getattr(given, name, None)
