"""Errors of servers and of litellm, read by the table of faults."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import litellm

from mesa_memory.core import fault_table
from mesa_memory.core.fault_table import BUSY, REFUSED, Fault
from mesa_memory.hosts.litellm import bounded

#: litellm's errors that mean a refusal, also where they have no HTTP state
REJECTION_ERRORS = (
    litellm.AuthenticationError,
    litellm.BadRequestError,
    litellm.NotFoundError,
    litellm.PermissionDeniedError,
    litellm.UnprocessableEntityError,
)
#: header -> seconds in one unit of it
_WAIT_HEADERS = {"retry-after-ms": 0.001, "retry-after": 1.0}
#: A longer wait is a server's mistake; it is asked again as if it had named none.
MAX_WAIT_S = 86_400.0


class StateError(Exception):
    """A server's answer with an HTTP state other than success.

    Attributes:
        status_code: the state.
        headers: of the answer; they may name a time to wait.
        fault: the error in its body.
    """

    def __init__(
        self, status: int, body: bytes | str | dict = "", headers: Any = None
    ) -> None:
        if isinstance(body, dict):
            self.fault = fault_table.in_json(status, body)
        else:
            self.fault = fault_table.read(status, body)
        super().__init__(self.fault.said or f"HTTP {status}")
        self.status_code, self.headers = status, headers


@contextmanager
def calling(*bounds: Any, **named: Any) -> Iterator[None]:
    """Bounds the replies to litellm's requests; see ``litellm.bounded``.

    Raises:
        StateError: if a server has refused the last one. litellm's own errors differ in
            class and words from one provider to the next.
    """
    with bounded(*bounds, **named) as refused:
        try:
            yield
        except Exception as error:
            if refused:
                raise StateError(*refused[-1]) from error
            if any(isinstance(each, _NO_ADDRESS) for each in _causes(error)):
                raise StateError(400, "its address is not a web address") from error
            raise


#: httpx's errors for an address without ``http://``, or one that cannot be read
_NO_ADDRESS = (httpx.UnsupportedProtocol, httpx.InvalidURL)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error and those before it, which other packages hide in their own."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def outcome(error: BaseException) -> str:
    """The action that helps; see ``fault_table``.

    Providers' errors differ in class (a refused connection is an
    ``InternalServerError`` with OpenAI, an ``APIConnectionError`` with Ollama), so the
    class decides only where neither the table nor the HTTP state does.
    """
    decided = fault_table.outcome(fault_of(error))
    if decided is None:
        may_pass = isinstance(error, litellm.APIError | ConnectionError | TimeoutError)
        return BUSY if may_pass and not isinstance(error, REJECTION_ERRORS) else REFUSED
    return decided


def fault_of(error: BaseException) -> Fault:
    """A server's error, as it reported it."""
    if isinstance(error, StateError):
        return error.fault
    status = getattr(error, "status_code", None)
    status = status if isinstance(status, int) else None
    return fault_table.read(status, str(error))


def passing(error: BaseException) -> bool:
    """True if the same request may succeed later."""
    return outcome(error) == BUSY


def wait_of(error: BaseException | None) -> float:
    """The seconds a provider asks to wait, in headers or message; 0 if it does not."""
    response = getattr(error, "response", None)
    for headers in (
        getattr(response, "headers", None),
        getattr(error, "litellm_response_headers", None),
        getattr(error, "headers", None),
    ):
        for name, unit in _WAIT_HEADERS.items():
            value = headers.get(name) if headers else None
            if value:
                return _bounded(_seconds(str(value), unit))
    return 0.0 if error is None else _bounded(fault_table.wait_in(fault_of(error).said))


def _bounded(seconds: float) -> float:
    return seconds if 0 < seconds <= MAX_WAIT_S else 0.0


def _seconds(value: str, unit: float) -> float:
    """A number of ``unit`` seconds, or a date; 0 for anything else."""
    try:
        seconds = float(value) * unit
        return seconds if math.isfinite(seconds) else 0.0
    except ValueError:
        pass
    try:
        return parsedate_to_datetime(value).timestamp() - time.time()
    except (ValueError, OverflowError, OSError):
        return 0.0
