"""Language models of providers, with bounded retries, deadlines and limits.

All calls run in one event loop (the scheduler's), so connections are kept and shared.
Senders know how a request reaches its model: see ``routing``.
"""

import asyncio
import random
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mesa_memory.core.fault_table import BAD_OUTPUT, BUSY, FailedAttempt
from mesa_memory.core.requests import LLMRequest, Reply, Route
from mesa_memory.core.text import redaction, replies
from mesa_memory.core.text.addresses import server_address
from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.errors import LLMError, LLMRejected
from mesa_memory.hosts.litellm import prepare
from mesa_memory.hosts.provider_faults import fault_of, outcome, passing
from mesa_memory.llm import errors as provider_errors
from mesa_memory.llm import prices as pricing
from mesa_memory.llm.base import Attempt, LLMSettings, Sender
from mesa_memory.llm.direct import destination, obstacle, speaks_openai
from mesa_memory.llm.limits import OVERLOADED, ConcurrencyLimiter, Slot
from mesa_memory.llm.prices import Price
from mesa_memory.llm.schemas import sent_schema
from mesa_memory.llm.structured_output import FORMS, PLAIN, OutputFormat

logger = logger_of(__name__)


#: of a request that was not answered yet
NO_ROUTE = Route("")


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
        self.begun, self.refused, self.route = 0, False, NO_ROUTE

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


prepare()


#: seconds for which the way to a model stays as it was found: what litellm, the
#: environment and the hooks of a user's code say
ROUTE_S = 1.0
#: model, and its address unless it is the provider's usual one
type Place = tuple[str, str | None]


class ProviderClient:
    """Asks providers' models, each request within its attempts, deadline and limits.

    Args:
        settings: timeouts, limits and provider options.
        seed: of the jitter between attempts.
        senders: by name, in place of the usual ones.
        limiter: limits the number of requests under way.
    """

    def __init__(
        self,
        settings: LLMSettings | None = None,
        seed: object = None,
        senders: Mapping[str, Sender] | None = None,
        limiter: ConcurrencyLimiter | None = None,
    ) -> None:
        self.settings = settings or LLMSettings()
        self._jitter = random.Random(f"{seed}")
        self._limiter = limiter or ConcurrencyLimiter(self.settings.concurrency)
        self._answered_at: dict[Place, float] = {}  # time of the last answer
        self._paused_until: dict[Place, float] = {}  # as the provider asked
        self._formats: dict[Place, OutputFormat] = {}
        self._silent: set[Place] = set()  # failed before any answer
        self._senders: dict[str, Sender] = dict(senders or {})
        self._routes: dict[Place, tuple[float, Sender, Any]] = {}  # and until when

    def adopt(self, settings: LLMSettings) -> None:
        """Uses other settings for the next requests."""
        self.settings = settings
        self._routes.clear()
        self._limiter.set_ceiling(settings.concurrency)

    async def acomplete(self, request: LLMRequest) -> Reply:
        """The reply of the first model that gives one: the request's, then fallbacks.

        Each model has all attempts and the whole deadline.

        Raises:
            LLMUnavailable: after the last attempt, or when the deadline is over.
            LLMRejected: if the provider refuses the request as such.
        """
        if not request.model:
            raise LLMRejected(
                "the request names no model; expected 'provider/model'. Give llm_model= "
                "to the agent or the memory, or configure(model, llm=…).",
                **request.where,
            )
        failed: list[FailedAttempt] = []
        errors: list[LLMError] = []
        for model in (request.model, *self.settings.fallbacks):
            try:
                base = self.settings.api_base(request)
                attempts = RequestAttempts(
                    model, request, base, self.settings.deadline, failed
                )
            except ValueError as error:
                raise LLMRejected(f"{error}.", **request.where) from None
            try:
                return await self._ask(attempts)
            except LLMError as error:
                errors.append(error)
        # If any model may answer later, the request may succeed later.
        best = max(errors, key=lambda e: (e.passing, getattr(e, "sent", True)))
        best.failed = tuple(failed)
        raise best

    def price(self, model: str | None) -> Price | None:
        """The price of the model's tokens; None if unknown."""
        return pricing.price(model) if model else None

    async def _ask(self, attempts: RequestAttempts) -> Reply:
        """The reply of one model, within its attempts and the deadline."""
        started = time.monotonic()
        while True:
            try:
                reply = await self._attempt(attempts)
                break
            except Exception as error:
                is_bad_output = outcome(error) == BAD_OUTPUT
                if is_bad_output and attempts.request.schema is not None:
                    attempts.note_failed(error, "handed on as an unusable reply")
                    reply = Reply(None, attempts.model, finish=replies.BAD_OUTPUT)
                    break
                wait = self._wait_before_retry(attempts, error)
                if not self._may_retry(attempts, error, wait):
                    raise self._given_up(attempts, error) from redaction.cause(error)
                attempts.note_failed(error, f"sent again after {wait:.3g} s")
            await attempts.wait(wait)
        answered = reply.finish != replies.BAD_OUTPUT
        return replace(
            reply,
            attempts=len(attempts.failed) + answered,
            failed=tuple(attempts.failed),
            latency=time.monotonic() - started,
            client=attempts.route.client,
            form=attempts.route.form,
            without=attempts.route.without,
        )

    def _may_retry(
        self, attempts: RequestAttempts, error: Exception, wait: float
    ) -> bool:
        """True if one more attempt is allowed and may help."""
        if isinstance(error, provider_errors.NOT_SENT):
            return False
        if attempts.begun >= self.settings.attempts or wait >= attempts.time_left:
            return False
        if self._fails_alone(attempts):
            return False
        kind = outcome(error)
        return kind == BUSY or (kind == BAD_OUTPUT and attempts.begun == 1)

    def _given_up(self, attempts: RequestAttempts, error: Exception) -> LLMError:
        """The typed error for a model's last attempt."""
        ours = provider_errors.typed(
            *(error, attempts.model, attempts.request, attempts.begun),
            self.settings.deadline,
        )
        if not isinstance(error, provider_errors.NOT_SENT):
            attempts.note_failed(error, f"given up with {type(ours).__name__}")
        return ours

    async def _attempt(self, attempts: RequestAttempts) -> Reply:
        """The reply to the next attempt, which waits for its turn."""
        slot = await self._turn(attempts)
        attempts.begun, status = attempts.begun + 1, None
        began = time.monotonic()
        try:
            async with asyncio.timeout(min(self.settings.timeout, attempts.time_left)):
                reply = await self._send(attempts)
            status = 200
            return reply
        except Exception as error:
            if passing(error):
                timed_out = isinstance(error, TimeoutError)
                status = 408 if timed_out else getattr(error, "status_code", None)
            self._pause(attempts, error)
            raise
        finally:
            attempts.time_left -= time.monotonic() - began
            attempts.refused = status in OVERLOADED
            self._limiter.release(slot, status)

    # -- waiting for a turn ------------------------------------------------------------

    async def _turn(self, attempts: RequestAttempts) -> Slot:
        """Waits until the provider and concurrency allow one more attempt."""
        await self._until_unpaused(attempts)
        while True:
            slot = await self._slot(attempts)
            if self._pause_left(attempts) <= 0:
                return slot
            # The provider asked for a pause while the request waited for its slot.
            self._limiter.release(slot, None)
            await self._until_unpaused(attempts)

    async def _slot(self, attempts: RequestAttempts) -> Slot:
        """Waits for a slot as long as other requests are answered, plus one deadline.

        Raises:
            QueueTimeout: if no request is answered.
        """
        if slot := self._limiter.free_slot(attempts.place, attempts.refused):
            return slot
        began, deadline = time.monotonic(), self.settings.deadline
        while True:
            until = max(began, self._last_answer) + deadline
            try:
                async with asyncio.timeout(until - time.monotonic()):
                    return await self._limiter.acquire(
                        attempts.place, _order(attempts.request), attempts.refused
                    )
            except TimeoutError as error:
                if self._last_answer + deadline <= time.monotonic():
                    raise provider_errors.QueueTimeout(
                        "no request got an answer in the meantime"
                    ) from error

    async def _until_unpaused(self, attempts: RequestAttempts) -> None:
        """Waits until a provider that asked for a pause may be asked again.

        Raises:
            ProviderPaused: if no time for a whole attempt is left after the pause.
        """
        left = self._pause_left(attempts)
        if left <= 0:
            return
        if left + self.settings.timeout >= attempts.time_left:
            raise provider_errors.ProviderPaused(attempts.model, left)
        await attempts.wait(left)

    def _pause_left(self, attempts: RequestAttempts) -> float:
        """Seconds until the provider may be asked again."""
        return self._paused_until.get(attempts.place, 0.0) - time.monotonic()

    def _pause(self, attempts: RequestAttempts, error: Exception) -> None:
        """Notes the pause that a provider asks for; all requests keep to it."""
        wait = provider_errors.retry_after(error)
        if not wait or not passing(error):
            return
        place, until = attempts.place, time.monotonic() + wait
        self._paused_until[place] = max(until, self._paused_until.get(place, 0.0))
        if wait > self.settings.deadline:
            logger.warning(
                "model %r asks to wait %.4g s, longer than a request may take "
                "(deadline=%g s). No request is sent to it before; until then the run "
                "continues, and work that needs the model stays pending.",
                attempts.model,
                wait,
                self.settings.deadline,
            )

    # -- sending -----------------------------------------------------------------------

    async def _send(self, attempts: RequestAttempts) -> Reply:
        """The reply to one attempt; refused forms and settings are replaced at once."""
        (model, base), request = attempts.place, attempts.request
        sender, address = self._known_route(attempts.place, request.arguments)
        output, settings = self._format(attempts.place), self.settings.sent
        while True:
            plan = output.plan(sender.name, sent_schema(request.schema))
            attempt = Attempt(
                *(model, base, address, request),
                {**plan.arguments(settings), **request.arguments},
                self.settings.options,
                self.settings.timeout,
            )
            try:
                reply = await sender.send(attempt)
            except Exception as error:
                if not output.refused(plan, settings, error):
                    raise
                attempts.note_failed(error, "sent again in another form")
            else:
                self._answered_at[attempts.place] = time.monotonic()
                output.answered(plan)
                attempts.route = plan.route
                return reply

    def _format(self, place: Place) -> OutputFormat:
        """The forms that the model at an address is known to take."""
        if place not in self._formats:
            follows_schema = pricing.takes_schema(place[0]) or speaks_openai(*place)
            self._formats[place] = OutputFormat(FORMS[0] if follows_schema else PLAIN)
        return self._formats[place]

    def _known_route(
        self, place: Place, arguments: Mapping[str, Any]
    ) -> tuple[Sender, Any]:
        """``_route``, of the last second if no argument may change it."""
        if arguments:
            return self._route(*place, arguments)
        known, now = self._routes.get(place), time.monotonic()
        if known is None or known[0] < now:
            known = now + ROUTE_S, *self._route(*place, arguments)
            self._routes[place] = known
        return known[1:]

    def _route(
        self, model: str, base: str | None, arguments: Mapping[str, Any]
    ) -> tuple[Sender, Any]:
        """The sender of a request, and the address for the direct one.

        Raises:
            NotDirect: if client="direct" cannot send the request.
        """
        name, address = self.settings.client, None
        if name != "litellm":
            options = {**self.settings.sent, **arguments, **self.settings.options}
            reason = obstacle(options)
            if not reason:
                base = options.get("api_base") or options.get("base_url") or base
                reason, address = destination(model, base, options.get("api_key"))
            if reason and name == "direct":
                raise provider_errors.NotDirect(model, reason)
            name = "litellm" if reason else "direct"
        if name not in self._senders:
            self._senders[name] = _make_sender(name)
        return self._senders[name], address

    # -- retries -----------------------------------------------------------------------

    @property
    def _last_answer(self) -> float:
        """The time of the last answer to any request."""
        return max(self._answered_at.values(), default=0.0)

    def _fails_alone(self, attempts: RequestAttempts) -> bool:
        """True if a model that has not answered yet fails while others are answered.

        Its name, address or key may be wrong. So that agents do not wait for all its
        attempts, its first request has two, and each later one has one.
        """
        until = self._last_answer + self.settings.deadline
        others = bool(self._answered_at) and time.monotonic() < until
        if not others or attempts.place in self._answered_at or attempts.refused:
            return False
        first = attempts.place not in self._silent
        self._silent.add(attempts.place)
        return not first

    def _wait_before_retry(self, attempts: RequestAttempts, error: Exception) -> float:
        """Seconds to the next attempt: exponential with jitter, or as the server says.

        A first refusal needs no wait while the server works on other requests: their
        answers make room.
        """
        asked = provider_errors.retry_after(error)
        if not attempts.begun:  # it never had its turn
            return 0.0
        others = self._limiter.in_flight(attempts.place)
        if attempts.begun == 1 and attempts.refused and others:
            return asked
        backoff = self.settings.backoff * 2 ** (attempts.begun - 1)
        return max(backoff * (0.5 + self._jitter.random()), asked)


def _make_sender(name: str) -> Sender:
    if name == "direct":
        from mesa_memory.llm.direct import OpenAICompatibleSender

        return OpenAICompatibleSender()
    from mesa_memory.llm.litellm_sender import LiteLLMSender

    return LiteLLMSender()


def _order(request: LLMRequest) -> tuple:
    """Waiting requests go by step, then those with the same beginning together."""
    return (request.step, [str(m.get("content") or "") for m in request.messages()])
