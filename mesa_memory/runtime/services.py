"""The services of one model run: language model, ledger, observers, execution.

``Services.of(model)`` gives them, ``configure.configure`` changes them before the
agents are created. Memory logic asks for effects; here they are performed.
"""

import asyncio
import os
import threading
import weakref
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from mesa_memory.core.by_identity import ByIdentity
from mesa_memory.core.journal import RecordBus
from mesa_memory.core.prompt_files import FIRST_LANGUAGE
from mesa_memory.core.records import Observer
from mesa_memory.core.requests import ChatRequest, Embedded, LLMRequest, Reply
from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.core.text.redaction import scrub_reply
from mesa_memory.core.wording import Wordings
from mesa_memory.embedders import embedder as embedder_of
from mesa_memory.embedders.base import vectors_by
from mesa_memory.embedders.static import SHIPPED_NAME
from mesa_memory.embedders.vectors import EmbeddingBatcher, Vectors
from mesa_memory.hosts import mesa
from mesa_memory.hosts.mesa_llm import Names
from mesa_memory.llm import ledger
from mesa_memory.llm.base import LLM, AsyncLLM, LLMSettings
from mesa_memory.llm.cache import (
    CachedResponse,
    Occurrences,
    ResponseCache,
    request_key,
)
from mesa_memory.llm.doubles.offline import OfflineLLM
from mesa_memory.llm.doubles.policy import PROVIDER
from mesa_memory.llm.doubles.replay import CLIENT_OVERRIDE
from mesa_memory.llm.ledger import Ledger, Reservation
from mesa_memory.runtime.flows import CommitQueue, SingleFlight, execution_of, known
from mesa_memory.runtime.loop import at_exit, background

logger = logger_of(__name__)

_making = threading.Lock()


class Services:
    """The language model, ledger, settings and observers of one model's memories.

    Attributes:
        execution: ``"deferred"`` or ``"blocking"``.
        llm: answers every memory's requests; None asks the providers.
        offline_for_all: ``llm`` also answers memories whose own was replaced.
        agents: True if agents' own requests come here; None before ``configure``.
        model: asked by memories without an own ``llm_model``; None is the agent's.
        models: other models to ask, by purpose.
        embedder: turns texts into vectors; what it needs is loaded on first use.
        settings: how requests are sent.
        ledger: what it cost so far.
        bus: who observes the records of the run, and their order.
        max_pending_steps: failing steps in a row before the run stops.
        on_failure: ``"continue"``, or ``"raise"`` to stop at the first failure.
        recorder: the ``Recorder`` that writes the run into a store; None records nothing.
        replay: answers every request from a recorded run; None asks the model.
        cache: responses of providers and vectors, in a file; None caches nothing.
        replicate: the number under which responses are cached.
        occurrences: of a study's run, numbers its equal requests; None elsewhere.
        outcomes: attributes of the agents that the recorder notes after each step.
        wordings: what is told, by language.
        names: of the model's agents; None without a model.
        vectors: embeddings stored by the run that is resumed or replayed.
    """

    _of: ClassVar[ByIdentity["Services"]] = ByIdentity()
    _watchers: ClassVar[weakref.WeakSet[Callable[[Any], None]]] = weakref.WeakSet()

    def __init__(self, seed: object = None) -> None:
        self.execution = execution_of(os.environ.get("MESA_MEMORY_EXECUTION"))
        self.llm: LLM | AsyncLLM | None = None
        self.offline_for_all = False
        self.agents: bool | None = None
        self.model: str | None = None
        self.models: Mapping[str, str] = {}
        self.embedder: Any = embedder_of("static")
        self.settings = LLMSettings()
        self.ledger, self.bus = Ledger(), RecordBus()
        self.max_pending_steps = 10
        self.on_failure = "continue"
        self.recorder: Any = None
        self.replay: Any = CLIENT_OVERRIDE.get()
        self.cache: ResponseCache | None = None
        self.replicate = 0
        self.occurrences: Occurrences | None = None
        self._decisions = Occurrences(str(seed))
        self.outcomes: tuple[str, ...] = ()
        self.shared, self.vectors = SingleFlight(), Vectors()
        self.wordings = Wordings()
        self.names: Names | None = None
        self._batcher = EmbeddingBatcher()
        self._seed = seed
        self._provider: Any = None
        self._offline = OfflineLLM()
        self._works: weakref.WeakSet[CommitQueue] = weakref.WeakSet()
        self._said: set[str] = set()

    @classmethod
    def of(cls, model: Any) -> "Services":
        """The services of ``model``, made on first use."""
        if (services := cls._of.get(model)) is None:
            seed = mesa.seed(model)
            made = cls(seed if isinstance(seed, int | str) else None)
            made.names = Names.of(model)
            with _making:
                services = cls._of.setdefault(model, made)
                watchers = list(cls._watchers)
            for meet in watchers:
                meet(model)
        mesa.guard(model, services.clear_faults)
        return services

    @classmethod
    def watch(cls, meet: Callable[[Any], None]) -> None:
        """Calls ``meet``, as long as it exists, with each model that has or gets services.

        Args:
            meet: is held weakly.
        """
        with _making:
            cls._watchers.add(meet)
            models = cls._of.keys()
        for model in models:
            meet(model)

    def __enter__(self) -> "Services":
        return self

    def __exit__(self, fault: type[BaseException] | None, *_: object) -> None:
        """Ends the recorded run; after a fault it stays, to be resumed."""
        if fault is None and self.recorder is not None:
            self.recorder.close()

    @classmethod
    def exist(cls, model: Any) -> bool:
        """True if ``model`` has services already."""
        return cls._of.get(model) is not None

    @property
    def observers(self) -> list[Observer]:
        """Told of every record opened, graded and closed."""
        return self.bus.observers

    @property
    def deferred(self) -> bool:
        """True if work goes on in the background."""
        return self.execution == "deferred"

    @property
    def failures_allowed(self) -> int:
        """After this number of a memory's failing steps in a row the run stops."""
        return 1 if self.on_failure == "raise" else self.max_pending_steps

    def update_settings(self, settings: LLMSettings) -> None:
        """Other settings for all requests from now on."""
        self.settings = settings
        if self._provider is not None:
            self._provider.adopt(settings)

    def register_queue(self, work: CommitQueue) -> None:
        """Registers a memory's work for ``flush``."""
        with _making:
            self._works.add(work)
        work.say_once = self.say_once

    def flush(self) -> None:
        """Waits until no memory has unfinished work.

        Raises:
            LLMError, MemoryStalled: the first fault found, after all were joined.
        """
        faults = []
        with _making:
            works = [work for work in self._works if not work.idle]
        for work in works:
            try:
                work.settle(self.deferred)
            except Exception as error:
                faults.append(error)
        if faults:
            raise min(faults, key=lambda error: str(getattr(error, "agent", "")))

    def clear_faults(self) -> None:
        """Forgets the faults that were not raised yet: the run has been stopped.

        What failed stays due, so a fault that is still there is met again.
        """
        with _making:
            works = list(self._works)
        for work in works:
            work.clear_faults()

    def instant(self, model: str | None, replaced: bool) -> bool:
        """True if requests for ``model`` are answered without any waiting."""
        client = self.replay or self.llm
        named = map(self._named, (model, *self.models.values()))
        own = replaced and self.replay is None
        asked = [client] if client else named
        return not own and all(getattr(each, "instant", False) for each in asked)

    @property
    def embeds_here(self) -> bool:
        """True if embedding takes no time worth leaving the thread for."""
        return bool(getattr(self.embedder, "local", False))

    def embed(self, texts: Sequence[str]) -> Embedded:
        """The vectors of texts, blocking; from any thread."""
        return Embedded(self._vectors_of(texts), self.embedder.name)

    async def aembed(self, texts: tuple[str, ...]) -> Embedded:
        """``embed``, in the background loop, together with texts of other agents."""
        if self.embeds_here:
            return self.embed(texts)
        vectors = await self._batcher.add(texts, self._vectors_of)
        return Embedded(vectors, self.embedder.name)

    def _vectors_of(self, texts: Sequence[str]) -> Any:
        if self.embeds_here:
            return vectors_by(self.embedder, texts)
        return self.vectors.embed(self.embedder, texts, self.recorder, self.cache)

    def note_language(self, language: str) -> None:
        """Warns once if the embedder knows English alone, and recall another language."""
        if language != FIRST_LANGUAGE and self.embedder.name == SHIPPED_NAME:
            self.say_once(
                "the shipped embedder knows English alone: recall in the language '%s' "
                "rests on words. For meanings, too: configure(model, "
                "embedder='multilingual')",
                language,
            )

    def say_once(self, text: str, *parts: str) -> None:
        """Warns of it, but not again in this run; ``parts`` are put into the text."""
        if text not in self._said:
            self._said.add(text)
            logger.warning(text, *parts)

    def publish(self, values: Mapping[str, Any]) -> None:
        """Shares answers that hold for many agents."""
        self.shared.publish(values)
        if self.recorder is not None:
            self.recorder.published(values)

    def complete(self, request: LLMRequest, own: Any = None) -> Reply:
        """Answers a request, blocking; counted, recorded and within the budget.

        Args:
            own: answers in place of the configured model.
        """
        request, client = self._ready(request, own)
        if not hasattr(client, "complete"):
            return background.submit(self._answer(request, client)).result()
        if (paid := self._paid_before(request, client)) is not None:
            return paid
        call = _Call(self, request, client)
        while (full := self.ledger.reserve(call)) is not None:
            full.result()
        with call:
            call.answer = scrub_reply(client.complete(request))
        return call.answer

    def acomplete(
        self, request: LLMRequest, own: Any = None
    ) -> Coroutine[Any, Any, Reply]:
        """``complete``, in the background loop."""
        return self._answer(*self._ready(request, own))

    def _answer(self, request: LLMRequest, client: Any) -> Coroutine[Any, Any, Reply]:
        paid = self._paid_before(request, client)
        if self.cache is not None and self._can_cache(client):
            return self._cached(self.cache, request, client, paid)
        return self._ask(request, client) if paid is None else known(paid)

    async def _cached(
        self, cache: ResponseCache, request: LLMRequest, client: Any, paid: Reply | None
    ) -> Reply:
        """A client's answer, from the cache if it has it."""
        key = request_key(request, self.settings, self.replicate)
        decides = isinstance(request, ChatRequest)  # each agent for itself
        numbers = self.occurrences or (self._decisions if decides else None)
        if paid is not None:
            if numbers is not None:
                numbers.take(key, request)
            return paid
        async with cache.claim(key, request, numbers) as cached:
            if cached.reply is None:
                return await self._ask(request, client, cached)
            return self._give_cached(request, cached.reply)

    async def _ask(
        self, request: LLMRequest, client: Any, cached: CachedResponse | None = None
    ) -> Reply:
        """A client's answer, within the budget; counted, recorded and maybe cached."""
        call = _Call(self, request, client)
        while (full := self.ledger.reserve(call)) is not None:
            await asyncio.wrap_future(full)
        with call:
            if hasattr(client, "acomplete"):
                reply = await client.acomplete(request)
            else:
                reply = await asyncio.to_thread(client.complete, request)
            reply = scrub_reply(reply)
            call.answer = reply if cached is None else await cached.store(reply)
        return call.answer

    def _can_cache(self, client: Any) -> bool:
        """True if a client's answers depend on the request and the settings alone."""
        if client is self._provider:
            return True
        if self.is_billable(client):
            self.say_once(
                "responses of an object given as llm=, or put in place of memory.llm, "
                "are not cached: they may depend on more than the request"
            )
        return False

    def _give_cached(self, request: LLMRequest, reply: Reply) -> Reply:
        """A cached response, counted and recorded: nothing is sent or paid."""
        model = reply.model or request.model or ""
        self.ledger.count(request, model, ledger.usage_of(request, reply))
        if (recorder := self.recorder) is not None:
            recorder.called(request, recorder.began(request), reply, None, False)
        return reply

    def _paid_before(self, request: LLMRequest, client: Any) -> Reply | None:
        """The answer that a run killed in this step has paid for."""
        if self.recorder is None or not self.is_billable(client):
            return None
        return self.recorder.paid_before(request)

    def is_billable(self, client: Any) -> bool:
        """True if a client is asked anew, and takes its time."""
        return client is not self.replay and not getattr(client, "instant", False)

    def _ready(self, request: LLMRequest, own: Any) -> tuple[LLMRequest, Any]:
        """A request with the settings it is sent with, and who answers it."""
        client = self.live_client(request, own) if self.replay is None else self.replay
        told = self.settings.told
        return replace(request, settings=told) if told else request, client

    def live_client(self, request: LLMRequest, own: Any = None) -> LLM | AsyncLLM:
        """The client for a request without a recorded answer."""
        if own is not None:
            return own
        # What agents ask themselves goes to the models that they name.
        if self.llm is None or isinstance(request, ChatRequest):
            return self._named(request.model)
        return self.llm

    def _named(self, model: str | None) -> LLM | AsyncLLM:
        """The client for a model."""
        if model and model.partition("/")[0] == PROVIDER:
            return self.llm if isinstance(self.llm, OfflineLLM) else self._offline
        if self._provider is None:
            from mesa_memory.llm.client import ProviderClient

            with _making:  # a second one would have limits of its own
                if self._provider is None:
                    self._provider = ProviderClient(self.settings, self._seed)
        return self._provider


class _Call(Reservation):
    """A request for which there is a reservation; ``with`` counts and records it."""

    answer: Reply

    def __init__(self, services: Services, request: LLMRequest, client: Any) -> None:
        settings = services.settings
        tier = str(settings.options.get("service_tier") or "")
        price = ledger.price_of(client, request.model)
        super().__init__(request, price, settings.max_tokens, tier)
        self._services, self._client, self._price = services, client, price

    def __enter__(self) -> None:
        recorder = self._recorder = self._services.recorder
        self._order = recorder.began(self.request) if recorder else ()

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        services, request, client = self._services, self.request, self._client
        reply = None if error else self.answer
        model = (reply and reply.model) or request.model or ""
        if reply is None:
            used = ledger.failure_usage(error)
        else:
            same = model == request.model
            price = self._price if same else ledger.price_of(client, model)
            used = ledger.usage_of(request, reply, price)
            services.ledger.record_route(model, reply)
        services.ledger.settle(self, model, used)
        if self._recorder:
            replayed, live = client is services.replay, services.is_billable(client)
            self._recorder.called(
                request, self._order, reply, error, replayed, live=live
            )


def _flush_all() -> None:
    for services in Services._of.values():
        try:
            services.flush()
        except Exception:  # log, and continue with the other models
            logger.exception("unfinished work of a memory failed at exit")


at_exit(_flush_all)
