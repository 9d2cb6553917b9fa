"""Any provider through litellm, with bounded retries, deadlines and limits.

All calls run in one event loop (the scheduler's), so connections are kept and shared.
"""

import asyncio
import os
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

from aiolimiter import AsyncLimiter
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    stop_before_delay,
)

from mesa_memory.effects import LLMRequest, Reply
from mesa_memory.errors import LLMError, LLMRejected, LLMUnavailable
from mesa_memory.llm.base import LLMSettings
from mesa_memory.render import count_tokens, one_line, shorten

# The price list comes with litellm; fetching a newer one would open a socket at import.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
import litellm

litellm.suppress_debug_info = True

#: HTTP states that waiting can cure; every state from 500 can, too
PASSING_STATES = (408, 409, 425, 429)


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
        per_minute = self.settings.requests_per_minute
        self._requests = AsyncLimiter(max(1, per_minute)) if per_minute else None
        tokens = self.settings.tokens_per_minute
        self._tokens = AsyncLimiter(max(1, tokens)) if tokens else None

    async def acomplete(self, request: LLMRequest) -> Reply:
        """The reply of the first model that gives one: the request's, then fallbacks.

        Raises:
            LLMUnavailable: after the last attempt, or when the deadline is over.
            LLMRejected: if the provider refuses the request as such.
        """
        if not request.model:
            raise LLMRejected(
                "no model is named. Give llm_model='provider/model' to the agent or "
                "the memory, or configure(model, llm=…).",
                **_where(request),
            )
        failure: LLMError | None = None
        for name in (request.model, *self.settings.fallbacks):
            try:
                return await self._ask(name, request)
            except LLMError as error:
                failure = failure or error
        assert failure is not None  # there was at least one model
        raise failure

    def price(self, model: str | None) -> tuple[float, float] | None:
        """US dollars per prompt and completion token; None if unknown."""
        return _price(model) if model else None

    async def _ask(self, model: str, request: LLMRequest) -> Reply:
        started = time.monotonic()
        attempts = AsyncRetrying(
            stop=stop_after_attempt(self.settings.attempts)
            | stop_before_delay(self.settings.deadline),
            wait=self._wait,
            retry=retry_if_exception(passing),
            reraise=True,
        )
        number = 0
        try:
            async with asyncio.timeout(self.settings.deadline):
                async for attempt in attempts:
                    with attempt:
                        number = attempt.retry_state.attempt_number
                        response = await self._send(model, request)
        except Exception as error:
            raise self._failure(error, model, request, number) from error
        return _reply(response, model, number, time.monotonic() - started)

    async def _send(self, model: str, request: LLMRequest) -> Any:
        settings = self.settings
        messages = request.messages()
        chosen = {
            "temperature": settings.temperature,
            "seed": settings.seed,
            "max_tokens": settings.max_tokens,
            "api_base": request.api_base if model == request.model else None,
            **self._format(model, request),
        }
        async with self._limits(messages):
            return await litellm.acompletion(
                model=model,
                messages=messages,
                timeout=settings.timeout,
                max_retries=0,
                num_retries=0,
                **{k: v for k, v in chosen.items() if v is not None},
                **request.arguments,
                **settings.options,
            )

    def _format(self, model: str, request: LLMRequest) -> dict[str, Any]:
        """Asks for JSON by schema where the provider is known to support it."""
        if request.schema is None or not _takes_schema(model):
            return {}
        return {"response_format": request.schema}

    @asynccontextmanager
    async def _limits(self, messages: list[dict]) -> AsyncIterator[None]:
        if self._requests:
            await self._requests.acquire()
        if self._tokens:
            size = sum(count_tokens(str(m.get("content") or "")) for m in messages)
            await self._tokens.acquire(min(size, self._tokens.max_rate))
        async with self._slots:
            yield

    def _wait(self, state: RetryCallState) -> float:
        """Seconds to the next attempt: exponential with jitter, or as told."""
        backoff = self.settings.backoff * 2 ** (state.attempt_number - 1)
        jittered = backoff * (0.5 + self._jitter.random())
        error = state.outcome.exception() if state.outcome else None
        return max(jittered, retry_after(error))

    def _failure(
        self, error: Exception, model: str, request: LLMRequest, attempts: int
    ) -> LLMError:
        """Our error for litellm's, with what to do."""
        detail = one_line(shorten(str(error), 300)) or type(error).__name__
        where = f"model {model!r}" + (
            f" at {request.api_base}" if request.api_base else ""
        )
        if isinstance(error, TimeoutError) or passing(error):
            return LLMUnavailable(
                f"{where} gave no answer in {attempts} attempt(s) within "
                f"{self.settings.deadline:g} s: {detail}",
                **_where(request),
            )
        return LLMRejected(
            f"{where} refuses the request ({type(error).__name__}): {detail}. Check "
            "the API key, the model's name, api_base and the size of the prompt.",
            **_where(request),
        )


def passing(error: BaseException) -> bool:
    """True if the same request may succeed later.

    Providers' errors differ in class (a refused connection is an
    ``InternalServerError`` with OpenAI, an ``APIConnectionError`` with Ollama), so the
    HTTP state decides, and the class only where there is none.
    """
    rejected = (
        litellm.AuthenticationError,
        litellm.BadRequestError,
        litellm.NotFoundError,
        litellm.PermissionDeniedError,
        litellm.UnprocessableEntityError,
    )
    if isinstance(error, rejected):
        return False
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return status in PASSING_STATES or status >= 500 or status < 400
    return isinstance(error, litellm.APIError | ConnectionError | TimeoutError)


def retry_after(error: BaseException | None) -> float:
    """The seconds a provider's Retry-After header asks for; 0 if there is none."""
    response = getattr(error, "response", None)
    for headers in (
        getattr(response, "headers", None),
        getattr(error, "litellm_response_headers", None),
    ):
        value = headers.get("retry-after") if headers else None
        try:
            if value:
                return max(0.0, float(value))
        except ValueError:
            continue  # a date: the back-off decides
    return 0.0


def _reply(response: Any, model: str, attempts: int, latency: float) -> Reply:
    usage = getattr(response, "usage", None)
    choice = response.choices[0]
    return Reply(
        text=choice.message.content,
        model=model,
        prompt_tokens=getattr(usage, "prompt_tokens", None),
        completion_tokens=getattr(usage, "completion_tokens", None),
        cost=_cost(response, model),
        latency=latency,
        attempts=attempts,
        finish=choice.finish_reason or "stop",
        raw=response,
    )


def _cost(response: Any, model: str) -> float | None:
    """US dollars as litellm worked them out; None where it knows no price.

    litellm says 0 for an unknown price, too; a free model is one it lists as free.
    """
    cost = getattr(response, "_hidden_params", {}).get("response_cost")
    return cost if cost or _listed_as_free(model) else None


@cache
def _listed_as_free(model: str) -> bool:
    return litellm.model_cost.get(model, {}).get("input_cost_per_token") == 0


@cache
def _takes_schema(model: str) -> bool:
    return bool(litellm.supports_response_schema(model))


@cache
def _price(model: str) -> tuple[float, float] | None:
    try:
        info = litellm.get_model_info(model)
    except Exception:  # litellm raises a bare Exception for an unmapped model
        return None
    prompt, reply = info["input_cost_per_token"], info["output_cost_per_token"]
    known = prompt is not None and reply is not None
    # A model that litellm routes but does not list comes back as free.
    return (prompt, reply) if known and (prompt or _listed_as_free(model)) else None


def _where(request: LLMRequest) -> dict[str, Any]:
    return {"purpose": request.purpose, "agent": request.agent, "step": request.step}
