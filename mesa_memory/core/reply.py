"""A model's answer, and the way that its request went."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from mesa_memory.core.fault_table import FailedAttempt

#: a larger number of tokens is an error of its server
MOST_TOKENS = 10**12
#: where providers say how many prompt tokens they read from their cache: Anthropic,
#: DeepSeek; OpenAI and all who speak its protocol say it among the details
_CACHED = ("cache_read_input_tokens", "prompt_cache_hit_tokens")


def token_count(value: Any) -> int | None:
    """A number of tokens; None if this is not one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    fits = 0 <= value <= MOST_TOKENS and value == int(value)
    return int(value) if fits else None


@dataclass(frozen=True)
class Route:
    """The way of a request to its model.

    Attributes:
        client: ``"direct"`` or ``"litellm"``.
        form: how a reply by a schema was asked for: ``"json_schema"``,
            ``"json_object with schema"``, ``"json_object"``, ``"tools"`` or ``"plain"``.
        without: settings that the server refuses, and that are not sent to it.
    """

    client: str
    form: str = "plain"
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reply:
    """A model's answer.

    Attributes:
        text: the content; None if the model sent none.
        model: the model that answered.
        prompt_tokens, completion_tokens: None when the provider did not say.
        cost: US dollars; None means unknown, never zero.
        latency: seconds, all attempts and waits included.
        attempts: requests sent.
        finish: why the model stopped; ``"length"`` marks a truncated reply.
        raw: the provider's response object, for wrapped reasoning.
        cached_tokens: prompt tokens that the provider read from its cache; None when it
            did not say.
        tier: the service tier that was served, such as ``"flex"``; empty if unknown.
        cached: True if it came from the response cache; then nothing was sent.
        client: what sent the request, such as ``"litellm"``; empty if unknown.
        answered: the model that answered, in the provider's words, such as
            ``"gpt-5-mini-2025-08-07"``; empty if it did not say.
        response_id: the provider's number of the answer; empty without one.
        form: how the answer's form was asked for, such as ``"json_schema"``; empty if
            unknown.
        without: settings that the server refuses, and that were not sent to it.
        failed: attempts that failed before this answer.
    """

    text: str | None
    model: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None
    latency: float = 0.0
    attempts: int = 1
    finish: str = "stop"
    raw: Any = None
    cached_tokens: int | None = None
    tier: str = ""
    cached: bool = False
    client: str = ""
    form: str = ""
    without: tuple[str, ...] = ()
    failed: tuple[FailedAttempt, ...] = ()
    answered: str = ""
    response_id: str = ""

    def __post_init__(self) -> None:
        """Leaves out counts and costs that cannot be true; they are unknown then."""
        for name in ("prompt_tokens", "completion_tokens", "cached_tokens"):
            object.__setattr__(self, name, token_count(getattr(self, name)))
        if self.cost is not None and not 0 <= self.cost < math.inf:
            object.__setattr__(self, "cost", None)

    @property
    def route(self) -> "Route | None":
        """The way of its request; None if unknown."""
        return Route(self.client, self.form, self.without) if self.client else None


# -- as providers say it ----------------------------------------------------------------


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
