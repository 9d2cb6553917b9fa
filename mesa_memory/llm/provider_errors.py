"""What a provider's error means: whether waiting helps, how long, and what to do."""

import math
import re
import time
from email.utils import parsedate_to_datetime
from typing import Any

import litellm

from mesa_memory.core import redaction
from mesa_memory.core.render import one_line, shorten
from mesa_memory.core.requests import LLMRequest
from mesa_memory.errors import LLMError, LLMRejected, LLMUnavailable, PromptTooLong

#: HTTP states that waiting can cure; every state from 500 can, too
PASSING_STATES = (408, 409, 425, 429)
_REJECTED = (
    litellm.AuthenticationError,
    litellm.BadRequestError,
    litellm.NotFoundError,
    litellm.PermissionDeniedError,
    litellm.UnprocessableEntityError,
)
#: some providers' code raises this as a failed connection, or a server's error
_NO_KEY = re.compile(r"missing (?:[\w ]*api[ _]key|credentials)", re.IGNORECASE)
#: header -> seconds in one unit of it
_WAIT_HEADERS = {"retry-after-ms": 0.001, "retry-after": 1.0}


#: what servers say of a prompt that is too long
_TOO_LONG = re.compile(
    r"context_length_exceeded|maximum context l|context (?:size|length|window|limit)"
    r"|maximum input length|prompt is too long|input tokens exceed|too many tokens",
    re.IGNORECASE,
)


class StateError(Exception):
    """A server's answer with an HTTP state that is no success.

    Attributes:
        status_code: the state.
        headers: of the answer, if it said how long to wait.
    """

    def __init__(self, status: int, said: str, headers: Any = None) -> None:
        super().__init__(said or f"HTTP {status}")
        self.status_code, self.headers = status, headers


class NotLean(ValueError):
    """A request that shall go the lean way cannot."""

    def __init__(self, model: str, reason: str) -> None:
        super().__init__(
            f"client='lean' cannot send to {model}: {reason}. Choose client='auto' or "
            "client='litellm'"
        )


class NoAnswer(ConnectionError):
    """The provider sent a reply without any answer in it."""


class NoTurn(TimeoutError):
    """Nobody got an answer while the request waited for its turn."""


class Closed(TimeoutError):
    """The provider has said how long to wait, and that time is not over.

    Attributes:
        seconds: until then.
    """

    def __init__(self, model: str, seconds: float) -> None:
        super().__init__(f"{model} is not asked again before its time to wait is over")
        self.seconds = seconds


def passing(error: BaseException) -> bool:
    """True if the same request may succeed later.

    Providers' errors differ in class (a refused connection is an
    ``InternalServerError`` with OpenAI, an ``APIConnectionError`` with Ollama; a
    conflict is a ``BadRequestError``), so the HTTP state decides, and the class only
    where the state does not say.
    """
    status = getattr(error, "status_code", None)
    if status in PASSING_STATES:
        return True
    if isinstance(error, _REJECTED) or _NO_KEY.search(str(error)):
        return False
    if isinstance(status, int):
        return status >= 500 or status < 400
    return isinstance(error, litellm.APIError | ConnectionError | TimeoutError)


def from_provider(error: BaseException) -> bool:
    """True for the errors that litellm and the network raise."""
    known = (litellm.APIError, StateError, *_REJECTED)
    return hasattr(error, "llm_provider") or isinstance(
        error, (*known, ConnectionError, TimeoutError)
    )


def retry_after(error: BaseException | None) -> float:
    """The seconds a provider asks to wait, in its headers; 0 if it does not."""
    if isinstance(error, Closed):
        return error.seconds
    response = getattr(error, "response", None)
    for headers in (
        getattr(response, "headers", None),
        getattr(error, "litellm_response_headers", None),
        getattr(error, "headers", None),
    ):
        for name, unit in _WAIT_HEADERS.items():
            value = headers.get(name) if headers else None
            if value:
                return _seconds(str(value), unit)
    return 0.0


def _seconds(value: str, unit: float) -> float:
    """A number of ``unit`` seconds, or a date; 0 for anything else."""
    try:
        seconds = float(value) * unit
        return max(0.0, seconds) if math.isfinite(seconds) else 0.0
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):
        return 0.0


def typed(
    error: Exception, model: str, request: LLMRequest, attempts: int, deadline: float
) -> LLMError:
    """Our error for ``error``, with what to do about it."""
    timed_out = isinstance(error, TimeoutError)
    said = str(error) or ("no reply in time" if timed_out else type(error).__name__)
    said = said.partition("\nTraceback")[0]
    redaction.learn_keys(litellm)
    # Before it is cut, as half a key is known to nobody.
    detail = one_line(shorten(redaction.scrub(said), 300)).rstrip(". ")
    base = f" at {request.api_base}" if request.api_base else ""
    where: Any = {
        "purpose": request.purpose,
        "agent": request.agent,
        "step": request.step,
    }
    if not passing(error):
        kind = PromptTooLong if too_long(error) else LLMRejected
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
        sent=attempts > 0 or not isinstance(error, Closed),
        **where,
    )


def _kind(error: Exception) -> str:
    if isinstance(error, StateError):
        return f"HTTP {error.status_code}"
    return type(error).__name__


def too_long(error: Exception) -> bool:
    """True if a prompt was refused for its length."""
    if isinstance(error, litellm.ContextWindowExceededError):
        return True
    status = getattr(error, "status_code", None)
    return status == 413 or (
        status in (400, 422) and bool(_TOO_LONG.search(f"{error}"))
    )


def advice(error: Exception) -> str:
    """What to do about a request that was refused."""
    status = getattr(error, "status_code", None)
    if isinstance(error, NotLean):
        return ""
    if too_long(error):
        return (
            "The prompt is too long for this model: give the memory a smaller "
            "event_chars, section_chars or capacity, or take a model with a larger "
            "context."
        )
    no_key = isinstance(error, litellm.AuthenticationError) or status in (401, 403)
    if no_key or _NO_KEY.search(str(error)):
        return "Check the API key of this provider, and whether it may use this model."
    if isinstance(error, litellm.NotFoundError) or status == 404:
        return "Check the model's name ('provider/model') and api_base."
    return (
        "Check the API key, the model's name, api_base, the size of the prompt and "
        "the options given to configure()."
    )
