"""The services of one model run: language model, ledger, observers, execution.

``Services.of(model)`` gives them, ``configuration.configure`` changes them before the
agents are created. Memory logic asks for effects; here they are performed.
"""

import asyncio
import logging
import os
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from mesa_memory.background import at_exit, background
from mesa_memory.effects import LLMRequest, Reply
from mesa_memory.embedders import embedder as embedder_of
from mesa_memory.embedding import Embedded, EmbedRequest
from mesa_memory.llm.base import LLM, AsyncLLM, LLMSettings
from mesa_memory.llm.ledger import Ledger, Usage, forecast, usage_of
from mesa_memory.llm.offline import OfflineLLM
from mesa_memory.llm.policy import PROVIDER
from mesa_memory.pooling import EmbeddingPool
from mesa_memory.recording.vectors import Vectors
from mesa_memory.records import Chronicle, Observer
from mesa_memory.scheduler import Work, execution_of
from mesa_memory.sharing import SharedAnswers

if TYPE_CHECKING:
    from mesa_memory.recording.recorder import Recorder

logger = logging.getLogger(__name__)

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
        chronicle: who observes the records of the run, and their order.
        max_pending_steps: failing steps in a row before the run stops.
        recorder: writes the run into a store; None records nothing.
        replay: answers every request from a recorded run; None asks the model.
        vectors: those that a run that is resumed or replayed has got.
    """

    _of: ClassVar[weakref.WeakKeyDictionary[Any, "Services"]] = (
        weakref.WeakKeyDictionary()
    )

    def __init__(self, seed: object = None) -> None:
        self.execution = execution_of(os.environ.get("MESA_MEMORY_EXECUTION"))
        self.llm: LLM | AsyncLLM | None = None
        self.model: str | None = None
        self.embedder: Any = embedder_of("static")
        self.settings = LLMSettings()
        self.ledger = Ledger()
        self.chronicle = Chronicle()
        self.max_pending_steps = 10
        self.recorder: Recorder | None = None
        self.replay: Any = None
        self.shared = SharedAnswers()
        self.pool = EmbeddingPool()
        self.vectors = Vectors()
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

    @classmethod
    def exist(cls, model: Any) -> bool:
        """True if ``model`` has services already."""
        return model in cls._of

    @property
    def observers(self) -> list[Observer]:
        """Told of every record opened, graded and closed."""
        return self.chronicle.observers

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
            works = [work for work in self._works if not work.idle]
        for work in works:
            try:
                work.settle(self.deferred)
            except Exception as error:
                faults.append(error)
        if faults:
            raise min(faults, key=lambda error: str(getattr(error, "agent", "")))

    def instant(self, model: str | None, replaced: bool) -> bool:
        """True if requests for ``model`` are answered without any waiting."""
        if replaced and self.replay is None:
            return False
        return bool(getattr(self._client(model), "instant", False))

    @property
    def embeds_here(self) -> bool:
        """True if embedding takes no time worth leaving the thread for."""
        return str(self.embedder.name).startswith("static")

    def embed(self, request: EmbedRequest) -> Embedded:
        """The vectors of a request's texts, blocking; from any thread."""
        if self.embeds_here:
            vectors = self.embedder.embed(request.texts)
        else:
            vectors = self.vectors.embed(self.embedder, request.texts, self.recorder)
        return Embedded(vectors, self.embedder.name)

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
        client: Any = self._client(request.model, own)
        if not hasattr(client, "complete"):
            return background.submit(self.acomplete(request, own)).result()
        with self._accounted(request, client) as answer:
            answer.reply = client.complete(request)
        return answer.reply

    async def acomplete(self, request: LLMRequest, own: Any = None) -> Reply:
        """``complete``, in the background loop."""
        client: Any = self._client(request.model, own)
        with self._accounted(request, client) as answer:
            if hasattr(client, "acomplete"):
                answer.reply = await client.acomplete(request)
            else:
                answer.reply = await asyncio.to_thread(client.complete, request)
        return answer.reply

    @contextmanager
    def _accounted(self, request: LLMRequest, client: Any) -> Iterator["_Answer"]:
        """Around one request: within the budget, then in ledger and record."""
        answer, recorder = _Answer(), self.recorder
        expected = self._reserve(request, client)
        number = recorder.began(request) if recorder else 0
        error: BaseException | None = None
        try:
            yield answer
        except BaseException as raised:
            error = raised
            raise
        finally:
            reply = None if error else answer.reply
            self._settle(request, expected, reply)
            if recorder:
                recorder.called(request, number, reply, error, client is self.replay)

    def live_client(self, request: LLMRequest) -> LLM | AsyncLLM:
        """What answers a request that no recorded run answers."""
        return self._live(request.model)

    def _client(self, model: str | None, own: Any = None) -> LLM | AsyncLLM:
        return self._live(model, own) if self.replay is None else self.replay

    def _live(self, model: str | None, own: Any = None) -> LLM | AsyncLLM:
        if own is not None:
            return own
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


class _Answer:
    """Where the reply to a request is put."""

    reply: Any = None


def _flush_all() -> None:
    for services in list(Services._of.values()):
        try:
            services.flush()
        except Exception:  # nobody is left to catch it; the others still want theirs
            logger.exception("unfinished work of a memory failed at exit")


at_exit(_flush_all)
