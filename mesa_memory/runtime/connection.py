"""Connects a memory to the services of its model."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mesa_memory.core.embedding import Embedded
from mesa_memory.core.inbox import Commit
from mesa_memory.core.records import RecordBus
from mesa_memory.core.requests import Flow, arun, run
from mesa_memory.core.text.detection import wording_for
from mesa_memory.core.text.redaction import cause
from mesa_memory.core.wording import FIRST_LANGUAGE, Wording
from mesa_memory.embedders.static import SHIPPED_NAME
from mesa_memory.errors import LLMRejected
from mesa_memory.hosts.mesa_llm.agent_llm import own_llm
from mesa_memory.llm.doubles import override as overrides
from mesa_memory.llm.doubles.offline import advice, answerer
from mesa_memory.llm.tokens import count_tokens
from mesa_memory.runtime import reasoning  # noqa: F401, stands between agents and LLMs
from mesa_memory.runtime.effects import EffectHandler
from mesa_memory.runtime.loop import background, elsewhere, in_event_loop
from mesa_memory.runtime.queue import CommitQueue
from mesa_memory.runtime.services import Services


class Connection:
    """Whom one memory asks, by Mesa-LLM's arguments and by the run's services.

    Args:
        memory: the memory; its agent is asked for anew each time.

    Attributes:
        work: the memory's unfinished work; set by ``renew``.
        model_name, api_base: the memory's own, as given; None asks the agent's.
        model: the Mesa model for which ``known`` are the services.
    """

    work: CommitQueue

    def __init__(self, memory: Any) -> None:
        self.memory = memory
        self.model_name: str | None = None
        self.api_base: str | None = None
        self._llm: Any = None
        self.model: Any = None
        self.known: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """The state without objects of this process."""
        process = ("work", "model", "known")
        return {k: v for k, v in vars(self).items() if k not in process}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Takes up a state; services are looked up, and the work is set, anew."""
        self.__dict__.update(state)
        self.model = self.known = None

    @property
    def services(self) -> Services:
        """The services of this agent's model."""
        model = self.memory.agent.model
        if self.model is not model:
            self.model = model
            self.known = services = Services.of(model)
            services.join_later(self.work)
            if services.recorder is not None:
                services.recorder.met(self.memory)
        return self.known

    @property
    def wording(self) -> Wording:
        """The words of all that this agent and its model are told."""
        return wording_for(self.memory.agent, self.services.wordings)

    def renew(self, work: CommitQueue) -> CommitQueue:
        """The memory has another queue, which is registered at the next request."""
        self.work, self.model = work, None
        return work

    @property
    def bus(self) -> RecordBus:
        """The observers of the run's records, and the order of records."""
        return self.services.bus

    def waiting(self) -> list[Commit]:
        """The finished steps that are not admitted yet."""
        return self.work.waiting

    # -- who is asked -----------------------------------------------------------------

    @property
    def llm(self) -> Any:
        """Mesa-LLM's llm object of this memory."""
        if self._llm is None:
            model = self.target()[0]
            own = own_llm(self.memory.agent)
            self._llm = self.module_llm(model) if model else own
        return self._llm

    @llm.setter
    def llm(self, llm: Any) -> None:
        self._llm = llm

    def module_llm(self, model: str) -> Any:
        """Mesa-LLM's llm object for a model; checks its name and its key."""
        llm = overrides.module_llm(model, self.target()[1])
        llm.system_prompt = getattr(self.memory, "system_prompt", None)
        return llm

    def own_model(
        self,
        name: str | None,
        api_base: str | None,
        fallback: str | None = None,
        retries: int | None = None,
    ) -> None:
        """Takes the model and the address that the memory was given, if any.

        Args:
            fallback, retries: of Mesa-LLM's own requests; here the run's settings hold
                for all requests, which a warning says.

        Raises:
            ValueError: if the name is not ``provider/model`` or its key is missing.
        """
        self.model_name, self.api_base = name, api_base
        services = self.services  # from now on the model's steps are guarded
        if fallback is not None or retries is not None:
            services.say_once(
                "fallback_model and max_retries of a memory have no effect, as the run's "
                "settings hold for all requests: configure(model, fallbacks=(…,), "
                "attempts=…)."
            )
        if name and services.llm is None:
            self._llm = self.module_llm(name)

    def target(
        self, known: Services | None = None, purpose: str = ""
    ) -> tuple[str | None, str | None]:
        """The model that is asked for a purpose, and the address of its provider."""
        services = known or self.services
        if own := services.models.get(purpose):
            usual, base = self.target(services)
            there = own.partition("/")[0] == (usual or "").partition("/")[0]
            return own, base if there else None
        if chosen := self.model_name or services.model:
            return chosen, self.api_base
        agents = own_llm(self.memory.agent)
        name = getattr(agents, "llm_model", None)
        base = getattr(agents, "api_base", None)
        base = self.api_base or (base if isinstance(base, str) else None)
        return name if isinstance(name, str) else None, base

    def system_for(self, task: Any, inputs: Mapping[str, Any]) -> str:
        """The system text of a task; the memory's class may have its own."""
        return self.memory.system_for(task, inputs)

    def replaced(self) -> overrides.LLMOverride | None:
        """The user's override of Mesa-LLM's llm object; None without one."""
        services = self.services
        if services.replay is not None or services.offline_for_all:
            return None
        if self._llm is None:  # so the user did not override it
            model = self.target(services)[0]
            offline = (model or "").startswith("offline/")
            if services.llm or offline:
                return None
        try:
            return overrides.override(self.llm)
        except ValueError as error:  # no such provider, or no key
            agent, step = self.memory.agent.unique_id, self.memory.layer_context.now
            where = {"purpose": "connect", "agent": agent, "step": step}
            raise LLMRejected(str(error), **where) from cause(error)

    def asks_instantly(self) -> bool:
        """True if requests are answered without waiting."""
        services, replaced = self.services, self.replaced() is not None
        return services.instant(self.target(services)[0], replaced)

    def instant(self) -> bool:
        """True if all of the memory's work is done without waiting."""
        return self.memory.instant()

    # -- embeddings, and what is recorded of them ---------------------------------------

    @property
    def embeds_here(self) -> bool:
        """True if embedding takes no time worth leaving the thread for."""
        return self.services.embeds_here

    @property
    def embedder_name(self) -> str:
        """The name of the embedder."""
        return self.services.embedder.name

    def note_language(self, language: str) -> None:
        """Warns once if the embedder knows English alone, and recall another language."""
        if language != FIRST_LANGUAGE and self.embedder_name == SHIPPED_NAME:
            self.say_once(
                "the shipped embedder knows English alone: recall in the language '%s' "
                "rests on words. For meanings, too: configure(model, "
                "embedder='multilingual')",
                language,
            )

    def count_tokens(self, text: str) -> int:
        """The tokens of a text for the model that is asked; see ``llm.tokens``."""
        return count_tokens(text, self.target()[0])

    @property
    def failures_allowed(self) -> int:
        """The number of failing steps in a row after which the run stops."""
        return self.services.failures_allowed

    def say_once(self, text: str, *parts: str) -> None:
        """Warns of it, but not again in this run; ``parts`` are put into the text."""
        self.services.say_once(text, *parts)

    def answered_by(self, purpose: str) -> str:
        """A sentence's end: who has answered requests of a purpose; and what to do."""
        known = self.services.ledger.by("purpose", "model")
        found = [answerer(model) for name, model in known if name == purpose]
        return f"{' and '.join(found)}.{advice(*found)}"

    def embed(self, texts: Sequence[str]) -> Embedded:
        """The vectors of texts, blocking."""
        return self.services.embed(texts)

    def note_recall(
        self, purpose: str, found: Any, shown: Callable[[Any], bool] = lambda _: True
    ) -> None:
        """Records came to mind, and ``shown`` says which of them were shown."""
        recorder, context = self.services.recorder, self.memory.layer_context
        if recorder and not context.unnoticed:
            commit_order = context.commit and context.commit.order
            whose = context.whose(purpose=purpose)
            what = found.query, found.scoring, found.records, found.note
            recorder.recalled(whose, *what, shown, commit_order, found.part)

    # -- answering --------------------------------------------------------------------

    def performer(self) -> "EffectHandler":
        """Answers the effects of one flow."""
        return EffectHandler(self)

    def run(self, flow: Flow[Any]) -> Any:
        """Runs a flow in this thread and returns its result."""
        performer = self.performer()
        try:
            return run(flow, performer)
        finally:
            performer.release()

    @property
    def in_event_loop(self) -> bool:
        """True if the other tasks of an event loop wait while ``run`` does."""
        return in_event_loop()

    def run_elsewhere(self, flow: Flow[Any]) -> Any:
        """``run``, in a thread in which no event loop runs."""
        return elsewhere(self.run, flow)

    async def arun(self, flow: Flow[Any]) -> Any:
        """``run``, for event loops: the flow is answered in the background."""
        return await asyncio.wrap_future(background.submit(self._arun(flow)))

    async def _arun(self, flow: Flow[Any]) -> Any:
        performer = self.performer()
        try:
            return await arun(flow, performer)
        finally:
            performer.release()
