"""Language models of providers, with bounded retries, deadlines and limits.

All calls run in one event loop (the scheduler's), so connections are kept and shared.
How a request goes to its model is the senders' affair: see ``routing``.
"""

import asyncio
import random
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from aiolimiter import AsyncLimiter

from mesa_memory.core.fault_table import BAD_OUTPUT, BUSY
from mesa_memory.core.render import count_tokens
from mesa_memory.core.requests import LLMRequest, Reply
from mesa_memory.core.text import redaction, replies
from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.errors import LLMError, LLMRejected
from mesa_memory.hosts.litellm import be_quiet, guard_clients
from mesa_memory.hosts.provider_faults import outcome, passing
from mesa_memory.hosts.proxies import reach_loopback_directly
from mesa_memory.llm.base import Attempt, LLMSettings, Sender
from mesa_memory.llm.cost import pricing
from mesa_memory.llm.cost.price import Price
from mesa_memory.llm.providers import errors as provider_errors
from mesa_memory.llm.providers.attempts import RequestAttempts
from mesa_memory.llm.providers.concurrency import OVERLOADED, Slot, Slots
from mesa_memory.llm.providers.prompt_caching import key_for
from mesa_memory.llm.providers.routing import destination, obstacle, speaks_openai
from mesa_memory.llm.providers.structured_output import FORMS, PLAIN, Negotiation, Plan
from mesa_memory.llm.schemas import sent_schema

be_quiet()
redaction.guard_others()
reach_loopback_directly()
guard_clients()

logger = logger_of(__name__)

#: seconds for which names, keys and addresses are remembered, as long as all goes well
LOOK_UP_S = 1.0


class ProviderClient:
    """Asks providers' models, each request within its attempts, deadline and limits.

    Args:
        settings: timeouts, limits and provider options.
        seed: of the jitter between attempts.
        senders: by name, in the place of the usual ones.
        slots: decides how many requests are under way at once.
    """

    def __init__(
        self,
        settings: LLMSettings | None = None,
        seed: object = None,
        senders: Mapping[str, Sender] | None = None,
        slots: Slots | None = None,
    ) -> None:
        self.settings = settings or LLMSettings()
        self._jitter = random.Random(f"{seed}")
        self._slots = slots or Slots(self.settings.concurrency)
        self._requests = _limiter(self.settings.requests_per_minute)
        self._tokens = _limiter(self.settings.tokens_per_minute)
        # By model and address: when it answered last, when it may be asked again, as it
        # said itself, and in which forms it takes requests.
        self._answers: dict[tuple[str, str | None], float] = {}
        self._closed: dict[tuple[str, str | None], float] = {}
        self._forms: dict[tuple[str, str | None], Negotiation] = {}
        self._mute: frozenset[Any] = frozenset()  # those that failed without an answer
        self._senders: dict[str, Sender] = dict(senders or {})
        self._ways: dict[tuple, tuple[float, tuple[str, Any]]] = {}

    def adopt(self, settings: LLMSettings) -> None:
        """Takes other settings for the next requests; a limit that stays goes on."""
        before, self.settings = self.settings, settings
        self._slots.set_ceiling(settings.concurrency)
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
            said = "no model is named. Give llm_model='provider/model' to the agent or "
            said += "the memory, or configure(model, llm=…)."
            raise LLMRejected(said, **request.where)
        names = (request.model, *self.settings.fallbacks)
        try:
            courses = [
                RequestAttempts(n, request, self.settings.deadline) for n in names
            ]
        except ValueError as error:
            raise LLMRejected(f"{error}.", **request.where) from None
        failures: list[LLMError] = []
        for course in courses:
            try:
                return await self._ask(course)
            except LLMError as error:
                failures.append(error)
        # If only one of them may answer later, then the request may succeed later.
        raise max(failures, key=lambda e: (e.passing, getattr(e, "sent", True)))

    def price(self, model: str | None) -> Price | None:
        """What the model's tokens cost; None if unknown."""
        return pricing.price(model) if model else None

    async def _ask(self, course: RequestAttempts) -> Reply:
        """The reply of one model, within its attempts and the deadline."""
        started, patience = time.monotonic(), course.patience
        while True:
            try:
                reply = await self._attempt(course)
            except Exception as error:
                bad = outcome(error) == BAD_OUTPUT
                if bad and course.request.schema is not None:  # it is sent back once
                    return Reply(None, course.model, finish=replies.BAD_OUTPUT)
                wait = self._wait(course, error)
                tried = course.attempts >= self.settings.attempts
                last = tried or wait >= patience.left or self._fails_alone(course)
                if last or not _worth_another_try(error, course.attempts):
                    raise provider_errors.typed(
                        *(error, course.model, course.request, course.requests),
                        self.settings.deadline,
                    ) from redaction.cause(error)
            else:
                route = course.route
                return replace(
                    reply,
                    attempts=course.requests,
                    latency=time.monotonic() - started,
                    client=route.client,
                    form=route.form,
                    without=route.without,
                )
            await patience.sleep(wait)

    async def _attempt(self, course: RequestAttempts) -> Reply:
        """The reply to the next attempt, which waits for its turn."""
        slot = await self._turn(course)
        course.attempts, status = course.attempts + 1, None
        patience, began = course.patience, time.monotonic()
        try:
            async with asyncio.timeout(min(self.settings.timeout, patience.left)):
                reply = await self._send(course)
            status = 200
            return reply
        except Exception as error:
            if passing(error):
                late = isinstance(error, TimeoutError)
                status = 408 if late else getattr(error, "status_code", None)
            self._ways.clear()  # a key or an address may be another one by now
            self._close(course, error)
            raise
        finally:
            patience.left -= time.monotonic() - began
            course.refused = status in OVERLOADED
            self._slots.release(slot, status)

    async def _until_open(self, course: RequestAttempts) -> None:
        """Waits until a provider that named a time may be asked again.

        Raises:
            Closed: if then the request has no time for a whole attempt any more.
        """
        left = self._closed_for(course)
        if left <= 0:
            return
        if left + self.settings.timeout >= course.patience.left:
            raise provider_errors.Closed(course.model, left)
        await course.patience.sleep(left)

    def _closed_for(self, course: RequestAttempts) -> float:
        if not self._closed:
            return 0.0
        return self._closed.get(course.place, 0.0) - time.monotonic()

    def _close(self, course: RequestAttempts, error: Exception) -> None:
        """Notes how long a provider asks to wait; nobody asks it before."""
        wait = provider_errors.retry_after(error)
        if not wait or not passing(error):
            return
        place, until = course.place, time.monotonic() + wait
        self._closed[place] = max(until, self._closed.get(place, 0.0))
        if wait > self.settings.deadline:
            logger.warning(
                "model %r asks to wait %.4g s, longer than a request may take "
                "(deadline=%g s). It is not asked again before; until then the run "
                "goes on, and what needs the model stays pending.",
                course.model,
                wait,
                self.settings.deadline,
            )

    async def _send(self, course: RequestAttempts) -> Reply:
        """The reply to one attempt; refused forms and settings are replaced at once."""
        (model, base), request = course.place, course.request
        settings, given = self.settings.sent, request.arguments
        whole = {**settings, **given} if given else settings
        sender, address = self._way(model, base, whole)
        forms, server = self._negotiation(course), address and address.base
        key = key_for(model, server or base, request)
        while True:
            plan = forms.plan(sender.name, sent_schema(request.schema))
            arguments = plan.arguments(settings)
            attempt = Attempt(
                *(model, base, address, request),
                {**key, **arguments, **given} if key or given else arguments,
                self.settings.options,
                self.settings.timeout,
            )
            try:
                reply = await sender.send(attempt)
            except Exception as error:
                if not forms.refused(plan, settings, error):
                    raise
                self._tell(course, plan, error)
                course.more += 1
            else:
                self._answers[course.place] = time.monotonic()
                forms.answered(plan)
                course.route = plan.route
                return reply

    def _negotiation(self, course: RequestAttempts) -> Negotiation:
        """What the model at an address takes, as far as it was found out by now."""
        found = self._forms.get(course.place)
        if found is None:
            model = course.model
            known = pricing.takes_schema(model) or speaks_openai(*course.place)
            found = Negotiation(FORMS[0] if known else PLAIN)
            self._forms[course.place] = found
        return found

    def _tell(self, course: RequestAttempts, plan: Plan, error: Exception) -> None:
        forms = self._negotiation(course)
        route = forms.plan(plan.route.client, plan.schema).route
        if route != plan.route:
            logger.info(
                "requests to model %r take another form from now on (%s, without %s), as "
                "it refused %s: %s",
                *(course.model, route.form, route.without or "nothing"),
                *(plan.form, error),
            )

    def _way(
        self, model: str, base: str | None, arguments: Mapping[str, Any]
    ) -> tuple[Sender, Any]:
        """Who sends a request, and where the lean way leads to.

        Raises:
            LLMRejected: if it shall be the lean one, and cannot.
        """
        name, address = self.settings.client, None
        if name != "litellm":
            options = self.settings.options
            given = {**arguments, **options} if options else arguments
            reason = obstacle(given)
            if not reason:
                reason, address = self._found(model, base, given)
            if reason and name == "lean":
                raise provider_errors.NotLean(model, reason)
            name = "litellm" if reason else "lean"
        if name not in self._senders:
            self._senders[name] = _make(name)
        return self._senders[name], address

    def _found(
        self, model: str, base: str | None, given: Mapping[str, Any]
    ) -> tuple[str, Any]:
        """``routing.destination``, which is looked up once a second at most."""
        base = given.get("api_base") or given.get("base_url") or base
        key, now = (model, base, given.get("api_key")), time.monotonic()
        until, found = self._ways.get(key, (0.0, ("", None)))
        if now > until:
            found = destination(*key)
            self._ways[key] = (now + LOOK_UP_S, found)
        return found

    async def _turn(self, course: RequestAttempts) -> Slot:
        """Waits until the provider, rates and concurrency allow one more attempt."""
        if self._closed:
            await self._until_open(course)
        if self._requests:
            await self._requests.acquire()
        if tokens := self._tokens:
            texts = [str(m.get("content") or "") for m in course.request.messages()]
            size = sum(map(count_tokens, texts))
            await tokens.acquire(min(size, tokens.max_rate))
        while True:
            slot = await self._slot(course)
            if self._closed_for(course) <= 0:
                return slot
            # That was said while the request waited for its turn.
            self._slots.release(slot, None)
            await self._until_open(course)

    async def _slot(self, course: RequestAttempts) -> Slot:
        """Waits for a slot as long as others get answers, and one deadline more.

        Raises:
            NoTurn: if nobody gets an answer.
        """
        place, refused = course.place, course.refused
        began = time.monotonic()
        while True:
            until = max(began, self._answered) + self.settings.deadline
            try:
                async with asyncio.timeout(until - time.monotonic()):
                    return await self._slots.acquire(
                        place, lambda: _order(course.request), refused
                    )
            except TimeoutError as error:
                if self._answered + self.settings.deadline <= time.monotonic():
                    said = "no request got an answer in the meantime"
                    raise provider_errors.NoTurn(said) from error

    @property
    def _answered(self) -> float:
        """The time of the last answer to any request."""
        return max(self._answers.values(), default=0.0)

    def _fails_alone(self, course: RequestAttempts) -> bool:
        """True if a model that has not answered yet fails while others are answered.

        Its name, address or key may be wrong. Agents do not wait for all its attempts:
        its first request has two, each later one has one.
        """
        place, until = course.place, self._answered + self.settings.deadline
        others = bool(self._answers) and time.monotonic() < until
        if not others or place in self._answers or course.refused:
            return False
        first, self._mute = place not in self._mute, self._mute | {place}
        return not first

    def _wait(self, course: RequestAttempts, error: Exception) -> float:
        """Seconds to the next attempt: exponential with jitter, or as the server says.

        A first refusal needs no wait while the server works on other requests: their
        answers make room.
        """
        attempt, asked = course.attempts, provider_errors.retry_after(error)
        if not attempt:  # it never had its turn
            return 0.0
        if attempt == 1 and course.refused and self._slots.in_flight(course.place):
            return asked
        backoff = self.settings.backoff * 2 ** (attempt - 1)
        return max(backoff * (0.5 + self._jitter.random()), asked)


def _make(name: str) -> Sender:
    if name == "lean":
        from mesa_memory.llm.providers.direct import LeanSender

        return LeanSender()
    from mesa_memory.llm.providers.litellm import LiteLLMSender

    return LiteLLMSender()


def _worth_another_try(error: BaseException, attempts: int) -> bool:
    if isinstance(error, provider_errors.NoTurn | provider_errors.Closed):
        return False
    decided = outcome(error)
    return decided == BUSY or (decided == BAD_OUTPUT and attempts == 1)


def _order(request: LLMRequest) -> tuple:
    """Among waiting requests: the earlier step first, then those that begin alike."""
    return (request.step, [str(m.get("content") or "") for m in request.messages()])


def _limiter(per_minute: float | None) -> AsyncLimiter | None:
    """A burst of one minute's worth (at least 1), then evenly."""
    if per_minute is None:
        return None
    return AsyncLimiter(max(1.0, per_minute), 60 * max(1.0, 1 / per_minute))
