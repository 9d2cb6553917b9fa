"""The attempts to get one model's reply to one request."""

import asyncio

from mesa_memory.core.fault_table import FailedAttempt
from mesa_memory.core.reply import Route
from mesa_memory.core.requests import LLMRequest
from mesa_memory.core.text.addresses import server_address
from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.hosts.provider_faults import fault_of, outcome

logger = logger_of(__name__)


class RequestAttempts:
    """The attempts to get the reply of one model to one request.

    Attributes:
        place: the model, and its address unless it is the provider's usual one.
        time_left: seconds for attempts and the waits between them. Waiting for a turn
            (rate and concurrency limits) does not count.
        begun: number of attempts begun.
        failed: failed attempts, shared with the other models that the request asks.
        refused: True if the server was overloaded at the last attempt.
        route: the route of the answered attempt.

    Args:
        base: the server's address; None is the provider's usual one.

    Raises:
        ValueError: if ``base`` is not a web address.
    """

    def __init__(
        self,
        model: str,
        request: LLMRequest,
        base: str | None,
        deadline: float,
        failed: list[FailedAttempt],
    ) -> None:
        asked = request.model or ""
        base = server_address(base) if base else None
        # A fallback of another provider has its own address.
        if model != asked and model.partition("/")[0] != asked.partition("/")[0]:
            base = None
        self.place, self.request, self.failed = (model, base), request, failed
        self.time_left = deadline
        self.begun, self.refused, self.route = 0, False, Route("")

    @property
    def model(self) -> str:
        """The request's own model, or a fallback."""
        return self.place[0]

    def note_failed(self, error: Exception, action: str) -> None:
        """Records a failed attempt and logs it, without the server's words."""
        status = getattr(error, "status_code", None) or fault_of(error).status
        status = status if isinstance(status, int) else None
        failed = FailedAttempt(self.model, outcome(error), status, action)
        self.failed.append(failed)
        request = self.request
        logger.info(
            "agent %s, step %s, %s: attempt %d failed (model %r, %s, %s): %s",
            *(request.agent, request.step, request.purpose, len(self.failed)),
            *(failed.model, failed.kind),
            f"HTTP {status}" if status else "no response",
            action,
        )

    async def wait(self, seconds: float) -> None:
        """Waits for the next attempt."""
        self.time_left -= seconds
        await asyncio.sleep(seconds)
