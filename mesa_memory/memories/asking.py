"""A memory's line to the services: whom it asks, and in whose name."""

from collections.abc import Mapping
from typing import Any

from mesa_memory.core.inbox import Commit
from mesa_memory.core.names import Names
from mesa_memory.core.records import MemoryRecord, RecordLog
from mesa_memory.core.redaction import cause
from mesa_memory.core.requests import Flow, LLMRequest
from mesa_memory.errors import LLMRejected
from mesa_memory.hosts.mesa import clock
from mesa_memory.hosts.mesa_llm import Memory
from mesa_memory.memories.doing import SETTLING
from mesa_memory.memories.llm_override import LLMOverride, module_llm
from mesa_memory.runtime.handler import EffectHandler
from mesa_memory.runtime.queue import CommitQueue
from mesa_memory.runtime.services import Services
from mesa_memory.tasks import Task


class Asking(Memory):
    """Makes requests and records in its agent's name."""

    layer: str
    _journal: RecordLog
    _work: CommitQueue
    _lock: Any  # held by whoever looks at the memory or changes it
    _alone_in: int | None  # the thread that looks at it
    _model: Any = None
    _services: Services
    _lived = 0  # own steps that ended while the model's clock stood still
    _llm: Any = None
    _model_name: str | None = None
    _api_base: str | None = None

    @property
    def services(self) -> Services:
        """The services of this agent's model."""
        model = self.agent.model
        if self._model is not model:
            self._model = model
            self._services = Services.of(model)
            self._services.join_later(self._work)
            if self._services.recorder is not None:
                self._services.recorder.met(self)
        return self._services

    @property
    def llm(self) -> Any:
        """Mesa-LLM's llm object of this memory; may be replaced, also its methods."""
        if self._llm is None:
            own = getattr(self.agent, "llm", None)
            model = self._request_model()
            self._llm = self._module_llm(model) if model else own
        return self._llm

    @llm.setter
    def llm(self, llm: Any) -> None:
        self._llm = llm

    def _module_llm(self, model: str) -> Any:
        llm = module_llm(model, self._base_of())
        llm.system_prompt = getattr(self, "system_prompt", None)
        return llm

    @property
    def _settling(self) -> Commit | None:
        """The batch that this thread or task is settling."""
        return SETTLING.of(self)

    def _now(self) -> float:
        """The model's clock; for work under way, the clock when it was committed.

        Deferred work ends when the answers come, which must not show in any record.
        """
        if self._settling is not None:
            return self._settling.now
        return self._clock()

    def _clock(self) -> float:
        """The model's clock; the agent's own steps, while that stands still at 0."""
        return max(clock(self.agent.model), self._lived)

    @property
    def _names(self) -> Names:
        return Names.of(self.agent.model)

    def _open(self, kind: str, step: float, content: Any, **more: Any) -> MemoryRecord:
        self._journal.chronicle = self.services.chronicle
        more.setdefault("among", self._settling and self._settling.place)
        return self._journal.open(self.agent.unique_id, kind, step, content, **more)

    def ask(self, task: Task, /, **inputs: Any) -> Flow[Any]:
        """Asks a task: ``reply = yield from self.ask(TASK, name=value, …)``.

        Args:
            inputs: what the task's system text and prompt are made of.

        Returns:
            What the task's check lets through: an instance of its schema, or a text.

        Raises:
            LLMError: if there is no usable reply.
        """
        return (yield from task.ask(self.request_for(task, **inputs)))

    def request_for(self, task: Task, /, **inputs: Any) -> LLMRequest:
        """The request that ``ask`` sends, in the name of this memory's agent."""
        return task.request(
            inputs,
            system=self.system_for(task, inputs),
            agent=self.agent.unique_id,
            step=self._now(),
            model=self._request_model(),
            api_base=self._base_of(),
        )

    def system_for(self, task: Task, inputs: Mapping[str, Any]) -> str:
        """The system text of a task asked here; may be overridden."""
        return task.system(inputs, getattr(self.agent, "step_prompt", None))

    def _request_model(self) -> str | None:
        own = getattr(getattr(self.agent, "llm", None), "llm_model", None)
        name = self._model_name or self.services.model or own
        return name if isinstance(name, str) else None

    def _base_of(self) -> str | None:
        """The provider's address that belongs to ``_request_model``."""
        if self._model_name or self.services.model:
            return self._api_base
        own = getattr(getattr(self.agent, "llm", None), "api_base", None)
        return self._api_base or (own if isinstance(own, str) else None)

    def _replaced(self) -> LLMOverride | None:
        """What a user put in place of Mesa-LLM's llm object, if anything."""
        if self.services.replay is not None:
            return None
        model = self._request_model() or ""
        if self._llm is None and (self.services.llm or model.startswith("offline/")):
            return None
        try:
            return LLMOverride.of(self.llm)
        except ValueError as error:  # no such provider, or no key
            raise LLMRejected(str(error), **self._where()) from cause(error)

    def _whose(self, **more: Any) -> dict[str, Any]:
        """Whose memory this is, and when, for the recorder."""
        agent, step = self.agent.unique_id, self._now()
        return {"agent": agent, "layer": self.layer, "step": step, **more}

    def _where(self) -> dict[str, Any]:
        step = self._now()
        return {"purpose": "connect", "agent": self.agent.unique_id, "step": step}

    def _instant(self) -> bool:
        """True if all of this memory's work is done without waiting."""
        return self._asks_instantly()

    def _asks_instantly(self) -> bool:
        replaced = self._replaced() is not None
        return self.services.instant(self._request_model(), replaced)

    def _performer(self) -> EffectHandler:
        return EffectHandler(self.services, self._replaced, self._instant)
