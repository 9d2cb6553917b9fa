"""A model's answer, and the way that its request went."""

import math
from dataclasses import dataclass
from typing import Any

from mesa_memory.core.fault_table import FailedAttempt

#: a larger number of tokens is an error of its server
MOST_TOKENS = 10**12


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
