"""The services of one model run: language model, ledger, observers, execution.

``Services.of(model)`` gives them, ``configure(model, …)`` changes them before the
agents are created. Memory logic asks for effects; here they are performed.
"""

import asyncio
import logging
import os
import threading
import weakref
from typing import Any, ClassVar

from mesa_memory.checks import whole
from mesa_memory.effects import LLMRequest, Reply
from mesa_memory.embedders import embedder as embedder_of
from mesa_memory.embedding import Embedded, EmbedRequest
from mesa_memory.llm.base import LLM, AsyncLLM, LLMSettings
from mesa_memory.llm.ledger import Budget, Ledger, Usage, forecast, usage_of
from mesa_memory.llm.offline import OfflineLLM
from mesa_memory.llm.policy import PROVIDER
from mesa_memory.records import Observer
from mesa_memory.scheduler import Work, at_exit, background
from mesa_memory.sharing import SharedAnswers

logger = logging.getLogger(__name__)

EXECUTIONS = ("deferred", "blocking")
ON_FAILURE = ("retry", "raise")


_making = threading.Lock()


class Services:
    """What the memories of one model share.

    Attributes:
        execution: ``"deferred"`` or ``"blocking"``.
        llm: answers every memory's requests; None sends them with litellm.
        model: asked by memories without an own ``llm_model``; None is the agent's.
        embedder: turns texts into vectors; what it needs is loaded on first use.
        settings: how requests are sent.
        ledger: what it cost so far.
        observers: told of every record opened and closed.
        max_pending_steps: failing steps in a row before the run stops.
    """

    _of: ClassVar[weakref.WeakKeyDictionary[Any, "Services"]] = (
        weakref.WeakKeyDictionary()
    )

    def __init__(self, seed: object = None) -> None:
        self.execution = _execution(os.environ.get("MESA_MEMORY_EXECUTION"))
        self.llm: LLM | AsyncLLM | None = None
        self.model: str | None = None
        self.embedder: Any = embedder_of("static")
        self.settings = LLMSettings()
        self.ledger = Ledger()
        self.observers: list[Observer] = []
        self.max_pending_steps = 10
        self.shared = SharedAnswers()
        self._seed = seed
        self._litellm: Any = None
        self._offline = OfflineLLM()
        self._works: weakref.WeakSet[Work] = weakref.WeakSet()

    @classmethod
    def of(cls, model: Any) -> "Services":
        """The services of ``model``, made on first use."""
        services = cls._of.get(model)
        if services is None:
            seed = getattr(model, "_seed", None)
            made = cls(seed if isinstance(seed, int | str) else None)
            with _making:
                services = cls._of.setdefault(model, made)
        return services

    @property
    def deferred(self) -> bool:
        """True if work goes on in the background."""
        return self.execution == "deferred"

    def join_later(self, work: Work) -> None:
        """Registers a memory's work for ``flush``."""
        with _making:
            self._works.add(work)

    def flush(self) -> None:
        """Waits until no memory has unfinished work.

        Raises:
            LLMError, MemoryStalled: the first fault found, after all were joined.
        """
        faults = []
        with _making:
            works = list(self._works)
        for work in works:
            try:
                work.settle(self.deferred)
            except Exception as error:
                faults.append(error)
        if faults:
            raise min(faults, key=lambda error: str(getattr(error, "agent", "")))

    def instant(self, model: str | None, replaced: bool) -> bool:
        """True if requests for ``model`` are answered without any waiting."""
        if replaced:
            return False
        return bool(getattr(self._client(model), "instant", False))

    @property
    def embeds_here(self) -> bool:
        """True if embedding takes no time worth leaving the thread for."""
        return str(self.embedder.name).startswith("static")

    def embed(self, request: EmbedRequest) -> Embedded:
        """The vectors of a request's texts, blocking; from any thread."""
        vectors = self.embedder.embed(request.texts)
        return Embedded(vectors, self.embedder.name)

    def complete(self, request: LLMRequest) -> Reply:
        """Answers a request, blocking; counted and within the budget."""
        client: Any = self._client(request.model)
        if not hasattr(client, "complete"):
            return background.submit(self.acomplete(request)).result()
        expected = self._reserve(request, client)
        reply: Any = None
        try:
            reply = client.complete(request)
        finally:
            self._settle(request, expected, reply)
        return reply

    async def acomplete(self, request: LLMRequest) -> Reply:
        """``complete``, in the background loop."""
        client: Any = self._client(request.model)
        expected = self._reserve(request, client)
        reply: Any = None
        try:
            if hasattr(client, "acomplete"):
                reply = await client.acomplete(request)
            else:
                reply = await asyncio.to_thread(client.complete, request)
        finally:
            self._settle(request, expected, reply)
        return reply

    def _client(self, model: str | None) -> LLM | AsyncLLM:
        if self.llm is not None:
            return self.llm
        if model and model.partition("/")[0] == PROVIDER:
            return self._offline
        if self._litellm is None:
            from mesa_memory.llm.litellm import LiteLLM

            with _making:  # a second client would have limits of its own
                if self._litellm is None:
                    self._litellm = LiteLLM(self.settings, seed=self._seed)
        return self._litellm

    def _reserve(self, request: LLMRequest, client: Any) -> Usage:
        price = (0.0, 0.0) if getattr(client, "instant", False) else None
        if price is None and hasattr(client, "price"):
            price = client.price(request.model)
        expected = forecast(request, price, self.settings.max_tokens)
        self.ledger.reserve(request, expected)
        return expected

    def _settle(
        self, request: LLMRequest, expected: Usage, reply: Reply | None
    ) -> None:
        if reply is None:  # nobody charges for an answer that did not come
            used = Usage(calls=1, attempts=1, failures=1)
            model = request.model or ""
        else:
            used, model = usage_of(request, reply), reply.model or request.model or ""
        self.ledger.settle(request, model, expected, used)


def configure(
    model: Any,
    *,
    llm: LLM | AsyncLLM | str | None = None,
    execution: str | None = None,
    budget: Budget | None = None,
    max_pending_steps: int = 10,
    on_failure: str = "retry",
    embedder: Any = "static",
    **settings: Any,
) -> Services:
    """Sets the services of ``model``; call it before the agents are created.

    Args:
        model: the Mesa model.
        llm: ``"offline"``, a model name for all memories (``"provider/model"``), or
            an object with ``complete`` or ``acomplete``. None asks each agent's model.
        execution: ``"deferred"`` (default: work goes on in the background and is
            joined before the agent's next step or the next read) or ``"blocking"``.
            None takes the environment variable ``MESA_MEMORY_EXECUTION``.
        budget: calls, tokens and money that must not be crossed.
        max_pending_steps: stop after so many failing steps of a memory in a row.
        on_failure: ``"raise"`` stops at the first failure instead.
        embedder: ``"static"`` (shipped, offline), ``"static:NAME"``,
            ``"fastembed:NAME"``, ``"litellm:PROVIDER/MODEL"``, or an embedder.
        **settings: fields of ``LLMSettings``, such as ``timeout`` and ``concurrency``.

    Raises:
        ValueError, TypeError: for a wrong argument.
    """
    if on_failure not in ON_FAILURE:
        raise ValueError(f"on_failure must be one of {ON_FAILURE}, got {on_failure!r}")
    pending = whole("max_pending_steps", max_pending_steps)
    name = llm if isinstance(llm, str) and "/" in llm else None
    # All arguments are checked before any of them takes effect.
    chosen = {
        "settings": LLMSettings(**settings),
        "execution": _execution(execution or os.environ.get("MESA_MEMORY_EXECUTION")),
        "max_pending_steps": 1 if on_failure == "raise" else pending,
        "model": name,
        "llm": None if name else _llm(llm),
        "embedder": embedder_of(embedder),
    }
    services = Services.of(model)
    vars(services).update(chosen)
    services.ledger.budget = budget or Budget()
    services._litellm = None  # made anew, with these settings
    return services


def _llm(llm: Any) -> LLM | AsyncLLM | None:
    if llm is None or hasattr(llm, "complete") or hasattr(llm, "acomplete"):
        return llm
    if llm == PROVIDER:
        return OfflineLLM()
    raise ValueError(
        "llm must be 'offline', a name like 'openai/gpt-4o-mini', an object with "
        f"complete() or acomplete(), or None; got {llm!r}"
    )


def _execution(name: str | None) -> str:
    if name and name not in EXECUTIONS:
        raise ValueError(f"execution must be one of {EXECUTIONS}, got {name!r}")
    return name or "deferred"


def _flush_all() -> None:
    for services in list(Services._of.values()):
        try:
            services.flush()
        except Exception:  # nobody is left to catch it; the others still want theirs
            logger.exception("unfinished work of a memory failed at exit")


at_exit(_flush_all)
