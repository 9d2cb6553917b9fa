"""Typed errors of providers: whether waiting helps, how long, and the advice to give."""

from typing import Any

import litellm

from mesa_memory.core import fault_table
from mesa_memory.core.fault_table import BAD_OUTPUT, FILTERED, REFUSED, TOO_LONG
from mesa_memory.core.render import one_line, shorten
from mesa_memory.core.requests import LLMRequest
from mesa_memory.core.text import redaction
from mesa_memory.errors import (
    BadReply,
    ContentFiltered,
    LLMError,
    LLMRejected,
    LLMUnavailable,
    PromptTooLong,
)
from mesa_memory.hosts.provider_faults import (
    REJECTION_ERRORS,
    StateError,
    fault_of,
    outcome,
    wait_of,
)

#: outcome -> class of the error
_CLASSES = {
    REFUSED: LLMRejected,
    TOO_LONG: PromptTooLong,
    FILTERED: ContentFiltered,
    BAD_OUTPUT: BadReply,
}


class NotDirect(ValueError):
    """A request that client="direct" cannot send."""

    def __init__(self, model: str, reason: str) -> None:
        super().__init__(
            f"client='direct' cannot send to {model}: {reason}. Choose client='auto' or "
            "client='litellm'"
        )


class NoAnswer(ConnectionError):
    """The provider's reply does not hold an answer."""


class QueueTimeout(TimeoutError):
    """No request got an answer while this one waited for its turn."""


class ProviderPaused(TimeoutError):
    """The provider asked for a pause that is not over.

    Attributes:
        seconds: until its end.
    """

    def __init__(self, model: str, seconds: float) -> None:
        super().__init__(f"{model} is not asked again before the end of the pause")
        self.seconds = seconds


#: raised before anything was sent
NOT_SENT = (NotDirect, QueueTimeout, ProviderPaused)


def from_provider(error: BaseException) -> bool:
    """True for the errors that litellm and the network raise."""
    known = (litellm.APIError, StateError, *REJECTION_ERRORS)
    return hasattr(error, "llm_provider") or isinstance(
        error, (*known, ConnectionError, TimeoutError)
    )


def retry_after(error: BaseException) -> float:
    """The seconds until a provider may be asked again; 0 if it named none."""
    return error.seconds if isinstance(error, ProviderPaused) else wait_of(error)


def typed(
    error: Exception, model: str, request: LLMRequest, attempts: int, deadline: float
) -> LLMError:
    """Our error for ``error``, with the remedy."""
    timed_out = isinstance(error, TimeoutError)
    said = fault_of(error).said
    said = said or ("no reply in time" if timed_out else type(error).__name__)
    said = said.partition("\nTraceback")[0]
    redaction.learn_keys(litellm)
    # Secrets first: half a key, cut off, would not be recognised.
    detail = one_line(shorten(redaction.scrub(said), 300)).rstrip(". ")
    base = f" at {request.api_base}" if request.api_base else ""
    where: Any = request.where
    decided = outcome(error)
    if kind := _CLASSES.get(decided):
        return kind(
            f"model {model!r}{base} refuses the request ({_kind(error)}): "
            f"{detail}. {advice(error)}".rstrip(),
            **where,
        )
    asked = retry_after(error)
    wait = f" It asks to wait {asked:.4g} s." if asked else ""
    return LLMUnavailable(
        f"model {model!r}{base} gave no answer in {attempts} attempt(s) within "
        f"{deadline:g} s: {detail}.{wait}",
        retry_after=asked,
        sent=attempts > 0 or not isinstance(error, ProviderPaused),
        **where,
    )


def _kind(error: Exception) -> str:
    if isinstance(error, StateError):
        return f"HTTP {error.status_code}"
    return type(error).__name__


def advice(error: Exception) -> str:
    """The next thing to do about a request that was refused."""
    status, decided = getattr(error, "status_code", None), outcome(error)
    if isinstance(error, NotDirect):
        return ""
    if decided in _ADVICE:
        return _ADVICE[decided]
    if fault_table.is_of_account(fault_of(error)):
        return "Check the balance, the plan and the spending limit of the account."
    no_key = isinstance(error, litellm.AuthenticationError) or status in (401, 403)
    if no_key or fault_table.TABLE["key"].fits(fault_of(error)):
        return "Check the API key of this provider, and whether it may use this model."
    if isinstance(error, litellm.NotFoundError) or status == 404:
        return "Check the model's name ('provider/model') and api_base."
    return (
        "Check the API key, the model's name, api_base, the size of the prompt and "
        "the options given to configure()."
    )


_ADVICE = {
    TOO_LONG: (
        "The prompt is too long for this model: give the memory a smaller "
        "event_chars, section_chars or capacity, or take a model with a larger "
        "context."
    ),
    FILTERED: (
        "Its content filter refuses a text. A memory leaves the event out; change the "
        "system text or the filter's settings if every request is refused."
    ),
    BAD_OUTPUT: "The model's own reply was unusable; try a larger model.",
}
