"""Any provider through litellm, with bounded retries, deadlines and limits.

All calls run in one event loop (the scheduler's), so connections are kept and shared.
"""

import asyncio
import os
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiolimiter import AsyncLimiter
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
)

from mesa_memory.core import redaction
from mesa_memory.core.content import plain
from mesa_memory.core.redaction import logger as logger_of
from mesa_memory.core.render import count_tokens
from mesa_memory.core.requests import LLMRequest, Reply
from mesa_memory.errors import LLMError, LLMRejected, LLMUnavailable
from mesa_memory.llm.base import LLMSettings

# The price list comes with litellm; fetching a newer one would open a socket at import.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
import litellm
import openai.resources  # noqa: F401 - a second that the first request would take

from mesa_memory.core.proxies import reach_loopback_directly
from mesa_memory.hosts.litellm import guard_clients
from mesa_memory.hosts.wire import bounded
from mesa_memory.llm import pricing, provider_errors
from mesa_memory.llm.deadline import Patience
from mesa_memory.llm.price import Price
from mesa_memory.llm.token_counts import TokenCounts, tier_of

litellm.suppress_debug_info = True
redaction.guard_others()
reach_loopback_directly()
guard_clients()

logger = logger_of(__name__)


class LiteLLM:
    """Sends requests with litellm.

    Args:
        settings: timeouts, limits and provider options.
        seed: of the jitter between attempts.
    """

    def __init__(
        self, settings: LLMSettings | None = None, seed: object = None
    ) -> None:
        self.settings = settings or LLMSettings()
        self._jitter = random.Random(f"{seed}")
        self._slots = asyncio.Semaphore(self.settings.concurrency)
        self._requests = _limiter(self.settings.requests_per_minute)
        self._tokens = _limiter(self.settings.tokens_per_minute)
        self._answered = 0.0  # when the provider last answered anybody
        # By model and address: when it may be asked again, as it said itself.
        self._closed: dict[tuple[str, str | None], float] = {}

    def adopt(self, settings: LLMSettings) -> None:
        """Takes other settings for the next requests; a limit that stays goes on."""
        before, self.settings = self.settings, settings
        if settings.concurrency != before.concurrency:
            self._slots = asyncio.Semaphore(settings.concurrency)
        if settings.requests_per_minute != before.requests_per_minute:
            self._requests = _limiter(settings.requests_per_minute)
        if settings.tokens_per_minute != before.tokens_per_minute:
            self._tokens = _limiter(settings.tokens_per_minute)

    async def acomplete(self, request: LLMRequest) -> Reply:
        """The reply of the first model that gives one: the request's, then fallbacks.

        Each model has all attempts and the whole deadline.

        Raises:
            LLMUnavailable: after the last attempt, or when the deadline is over.
            LLMRejected: if the provider refuses the request as such.
        """
        if not request.model:
            raise LLMRejected(
                "no model is named. Give llm_model='provider/model' to the agent or "
                "the memory, or configure(model, llm=…).",
                purpose=request.purpose,
                agent=request.agent,
                step=request.step,
            )
        failures: list[LLMError] = []
        for name in (request.model, *self.settings.fallbacks):
            try:
                return await self._ask(name, request)
            except LLMError as error:
                failures.append(error)
        # If only one of them may answer later, then the request may succeed later.
        raise max(failures, key=lambda e: (e.passing, getattr(e, "sent", True)))

    def price(self, model: str | None) -> Price | None:
        """What the model's tokens cost; None if unknown."""
        return pricing.price(model) if model else None

    async def _ask(self, model: str, request: LLMRequest) -> Reply:
        settings, started, number = self.settings, time.monotonic(), 0
        patience = Patience(settings.deadline)
        attempts = AsyncRetrying(
            stop=stop_after_attempt(settings.attempts) | patience,
            wait=self._wait,
            retry=retry_if_exception(_worth_another_try),
            sleep=patience.sleep,
            reraise=True,
        )
        try:
            async for attempt in attempts:
                with attempt:
                    await self._until_open(model, request, patience)
                    async with self._turn(request):
                        self._check_open(model, request)
                        number = attempt.retry_state.attempt_number
                        async with patience.attempt(settings.timeout):
                            response = await self._send(model, request)
        except Exception as error:
            fault = provider_errors.typed(
                error, model, request, number, settings.deadline
            )
            self._close(model, request, fault)
            raise fault from redaction.cause(error)
        return _reply(response, model, number, time.monotonic() - started)

    async def _until_open(
        self, model: str, request: LLMRequest, patience: Patience
    ) -> None:
        """Waits until a provider that named a time may be asked again.

        Raises:
            Closed: if then the request has no time for a whole attempt any more.
        """
        left = self._closed_for(model, request)
        if left <= 0:
            return
        if left + self.settings.timeout >= patience.left:
            raise provider_errors.Closed(model, left)
        await patience.sleep(left)

    def _check_open(self, model: str, request: LLMRequest) -> None:
        """Raises ``Closed`` if that was said while the request waited for its turn."""
        left = self._closed_for(model, request)
        if left > 0:
            raise provider_errors.Closed(model, left)

    def _closed_for(self, model: str, request: LLMRequest) -> float:
        until = self._closed.get((model, _base_for(model, request)), 0.0)
        return until - time.monotonic()

    def _close(self, model: str, request: LLMRequest, fault: LLMError) -> None:
        """Notes how long a provider asks to wait; nobody asks it before."""
        if not isinstance(fault, LLMUnavailable) or not (
            fault.sent and fault.retry_after
        ):
            return
        wait = fault.retry_after
        self._closed[model, _base_for(model, request)] = time.monotonic() + wait
        if wait > self.settings.deadline:
            logger.warning(
                "model %r asks to wait %.4g s, longer than a request may take "
                "(deadline=%g s). It is not asked again before; until then the run "
                "goes on, and what needs the model stays pending.",
                model,
                wait,
                self.settings.deadline,
            )

    async def _send(self, model: str, request: LLMRequest) -> Any:
        settings = self.settings
        chosen = {
            "temperature": settings.temperature,
            "seed": settings.seed,
            "max_tokens": settings.max_tokens,
            "api_base": _base_for(model, request),
            **self._format(model, request),
        }
        sent = {
            "model": model,
            "messages": plain(request.messages()),  # nothing that UTF-8 cannot carry
            "timeout": settings.timeout,
            "max_retries": 0,
            "num_retries": 0,
            **{k: v for k, v in chosen.items() if v is not None},
            **request.arguments,
            **settings.options,
        }
        with bounded():
            response = await litellm.acompletion(**sent)
        self._answered = time.monotonic()
        if not response.choices:
            raise provider_errors.NoAnswer("the reply has no choices")
        return response

    def _format(self, model: str, request: LLMRequest) -> dict[str, Any]:
        """Asks for JSON by schema where the provider is known to support it."""
        if request.schema is None or not pricing.takes_schema(model):
            return {}
        return {"response_format": request.schema}

    @asynccontextmanager
    async def _turn(self, request: LLMRequest) -> AsyncIterator[None]:
        """Waits until rates and concurrency allow one more attempt."""
        if self._requests:
            await self._requests.acquire()
        if tokens := self._tokens:
            texts = [str(m.get("content") or "") for m in request.messages()]
            size = sum(map(count_tokens, texts))
            await tokens.acquire(min(size, tokens.max_rate))
        slots = self._slots  # there may be others by the time it is given back
        await self._take_slot(slots)
        try:
            yield
        finally:
            slots.release()

    async def _take_slot(self, slots: asyncio.Semaphore) -> None:
        """Waits for a slot as long as others get answers, and one deadline more.

        Raises:
            NoTurn: if nobody gets an answer.
        """
        began = time.monotonic()
        while True:
            until = max(began, self._answered) + self.settings.deadline
            try:
                async with asyncio.timeout(until - time.monotonic()):
                    await slots.acquire()
            except TimeoutError as error:
                if self._answered + self.settings.deadline <= time.monotonic():
                    raise provider_errors.NoTurn(
                        "nobody got an answer meanwhile"
                    ) from error
            else:
                return

    def _wait(self, state: RetryCallState) -> float:
        """Seconds to the next attempt: exponential with jitter, or as told."""
        backoff = self.settings.backoff * 2 ** (state.attempt_number - 1)
        jittered = backoff * (0.5 + self._jitter.random())
        error = state.outcome.exception() if state.outcome else None
        return max(jittered, provider_errors.retry_after(error))


def _worth_another_try(error: BaseException) -> bool:
    return provider_errors.passing(error) and not isinstance(
        error, provider_errors.NoTurn | provider_errors.Closed
    )


def _limiter(per_minute: float | None) -> AsyncLimiter | None:
    """A burst of one minute's worth (at least 1), then evenly."""
    if per_minute is None:
        return None
    return AsyncLimiter(max(1.0, per_minute), 60 * max(1.0, 1 / per_minute))


def _base_for(model: str, request: LLMRequest) -> str | None:
    """The request's address, also for a fallback of the same provider."""
    provider = (request.model or "").partition("/")[0]
    return request.api_base if model.partition("/")[0] == provider else None


def _reply(response: Any, model: str, attempts: int, latency: float) -> Reply:
    counts = TokenCounts.of(getattr(response, "usage", None))
    choice = response.choices[0]
    return Reply(
        text=choice.message.content,
        model=model,
        prompt_tokens=counts.prompt,
        completion_tokens=counts.completion,
        cost=pricing.cost(response, model),
        latency=latency,
        attempts=attempts,
        finish=choice.finish_reason or "stop",
        raw=response,
        cached_tokens=counts.cached,
        tier=tier_of(response),
        client="litellm",
    )
