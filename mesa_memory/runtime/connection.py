"""Connects a memory to the services of its model, and performs what it yields."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from mesa_memory.core.requests import (
    FAULTS,
    AcquireShared,
    AwaitShared,
    Effect,
    EmbedRequest,
    Flow,
    Gather,
    LLMRequest,
    PublishShared,
    SharedAnswers,
    arun,
    run,
)
from mesa_memory.core.text.redaction import cause
from mesa_memory.core.wording import Wording
from mesa_memory.errors import LLMRejected
from mesa_memory.hosts.mesa_llm import own_llm
from mesa_memory.llm.doubles import override as overrides
from mesa_memory.llm.doubles.offline import advice, answerer
from mesa_memory.llm.tokens import count_tokens
from mesa_memory.runtime import reasoning  # noqa: F401, stands between agents and LLMs
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
    model_name: str | None = None
    api_base: str | None = None
    model: Any = None
    known: Any = None
    _llm: Any = None

    def __init__(self, memory: Any) -> None:
        self.memory = memory

    def __getstate__(self) -> dict[str, Any]:
        """The state without objects of this process, which a copy looks up anew."""
        process = ("work", "model", "known")
        return {k: v for k, v in vars(self).items() if k not in process}

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
        return self.services.wordings.of_agent(self.memory.agent)

    def renew(self, work: CommitQueue) -> CommitQueue:
        """The memory has another queue, which is registered at the next request."""
        self.work, self.model = work, None
        return work

    # -- who is asked -----------------------------------------------------------------

    @property
    def llm(self) -> Any:
        """Mesa-LLM's llm object of this memory."""
        if self._llm is None:
            model, own = self.target()[0], own_llm(self.memory.agent)
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

    def own_model(self, name: str | None, api_base: str | None) -> None:
        """Takes the model and the address that the memory was given, if any.

        Raises:
            ValueError: if the name is not ``provider/model`` or its key is missing.
        """
        self.model_name, self.api_base = name, api_base
        services = self.services  # from now on the model's steps are guarded
        if name and services.llm is None:
            self._llm = self.module_llm(name)

    def target(self, purpose: str = "") -> tuple[str | None, str | None]:
        """The model that is asked for a purpose, and the address of its provider."""
        services = self.services
        if own := services.models.get(purpose):
            usual, base = self.target()
            there = own.partition("/")[0] == (usual or "").partition("/")[0]
            return own, base if there else None
        if chosen := self.model_name or services.model:
            return chosen, self.api_base
        agents = own_llm(self.memory.agent)
        name = getattr(agents, "llm_model", None)
        base = getattr(agents, "api_base", None)
        base = self.api_base or (base if isinstance(base, str) else None)
        return name if isinstance(name, str) else None, base

    def replaced(self) -> overrides.LLMOverride | None:
        """The user's override of Mesa-LLM's llm object; None without one."""
        services = self.services
        if services.replay is not None or services.offline_for_all:
            return None
        if self._llm is None:  # so the user did not override it
            model = self.target()[0] or ""
            if services.llm or model.startswith("offline/"):
                return None
        try:
            return overrides.override(self.llm)
        except ValueError as error:  # no such provider, or no key
            agent, step = self.memory.agent.unique_id, self.memory.layer_context.now
            where = {"purpose": "connect", "agent": agent, "step": step}
            raise LLMRejected(str(error), **where) from cause(error)

    def asks_instantly(self) -> bool:
        """True if requests are answered without waiting."""
        replaced = self.replaced() is not None
        return self.services.instant(self.target()[0], replaced)

    # -- embeddings, and what is recorded of them ---------------------------------------

    def count_tokens(self, text: str) -> int:
        """The tokens of a text for the model that is asked; see ``llm.tokens``."""
        return count_tokens(text, self.target()[0])

    def answered_by(self, purpose: str) -> str:
        """A sentence's end: who has answered requests of a purpose; and what to do."""
        known = self.services.ledger.by("purpose", "model")
        found = [answerer(model) for name, model in known if name == purpose]
        return f"{' and '.join(found)}.{advice(*found)}"

    # -- answering --------------------------------------------------------------------

    def run(self, flow: Flow[Any]) -> Any:
        """Runs a flow in this thread and returns its result."""
        return EffectHandler(self).run(flow)

    @property
    def in_event_loop(self) -> bool:
        """True if the other tasks of an event loop wait while ``run`` does."""
        return in_event_loop()

    def run_elsewhere(self, flow: Flow[Any]) -> Any:
        """``run``, in a thread in which no event loop runs."""
        return elsewhere(self.run, flow)

    async def arun(self, flow: Flow[Any]) -> Any:
        """``run``, for event loops: the flow is answered in the background."""
        work = EffectHandler(self).arun(flow)
        return await asyncio.wrap_future(background.submit(work))


class EffectHandler:
    """Performs the effects of one flow, and gives its open claims back at the end.

    Args:
        connection: of the memory; what a user has put in the place of its llm object is
            asked for anew with each request.
        turn: of a gathered flow its place among all; empty for any other.
    """

    def __init__(self, connection: Any, turn: tuple[int, ...] = ()) -> None:
        self._connection, self._services = connection, connection.services
        self.instant = connection.memory.instant
        self._turn = turn
        self._effects = 0  # how many this flow has waited for
        self._claims: set[str] = set()

    def perform(self, effect: Effect) -> Any:
        """The answer, blocking."""
        if isinstance(effect, LLMRequest):
            request = self._numbered(effect)
            return self._services.complete(request, self._connection.replaced())
        if isinstance(effect, AcquireShared | PublishShared):
            return self._share(effect)
        self._effects += 1
        if isinstance(effect, EmbedRequest):
            return self._services.embed(effect.texts)
        if isinstance(effect, Gather):
            return self._gather(effect)
        return self._awaited(effect).result()

    async def aperform(self, effect: Effect) -> Any:
        """The answer, without blocking the event loop."""
        if isinstance(effect, LLMRequest):
            request = self._numbered(effect)
            return await self._services.acomplete(request, self._connection.replaced())
        if isinstance(effect, AcquireShared | PublishShared):
            return self._share(effect)
        self._effects += 1
        if isinstance(effect, EmbedRequest):
            return await self._services.aembed(effect.texts)
        if isinstance(effect, Gather):
            flows = [branch.drive(flow) for branch, flow in self._branches(effect)]
            return _outcomes(await asyncio.gather(*flows, return_exceptions=True))
        return await asyncio.wrap_future(self._awaited(effect))

    def release(self) -> None:
        """Ends the flow's claims, so that other flows do not wait for them."""
        if self._claims:
            self._services.shared.publish(dict.fromkeys(self._claims))
            self._claims.clear()

    def run(self, flow: Flow[Any]) -> Any:
        """The result of the flow, blocking."""
        try:
            return run(flow, self)
        finally:
            self.release()

    async def arun(self, flow: Flow[Any]) -> Any:
        """``run``, for event loops."""
        try:
            return await arun(flow, self)
        finally:
            self.release()

    async def drive(self, flow: Flow[Any]) -> Any:
        """The result of a gathered flow, or the fault that ended it."""
        try:
            return await self.arun(flow)
        except FAULTS as fault:
            return fault

    def drive_here(self, flow: Flow[Any]) -> Any:
        """``drive``, blocking; any other error is returned, too."""
        try:
            return self.run(flow)
        except Exception as error:
            return error

    def _gather(self, effect: Gather) -> list[Any]:
        """Runs all in the background, or one after the other if none waits."""
        branches = self._branches(effect)
        if self.instant() or self._connection.replaced():
            return _outcomes([b.drive_here(flow) for b, flow in branches])
        waiting = [background.submit(b.drive(flow)) for b, flow in branches]
        try:
            errors = [future.exception() for future in waiting]
        except BaseException:  # Ctrl-C: nobody wants the others' answers any more
            for future in waiting:
                future.cancel()
            raise
        return _outcomes(
            future.result() if error is None else error
            for error, future in zip(errors, waiting)
        )

    def _branches(self, effect: Gather) -> list[tuple["EffectHandler", Flow[Any]]]:
        """A separate performer for each flow: its open work ends with it."""
        self.release()
        place = self._effects if self._turn else self._services.bus.next_order()
        turn = (*self._turn, place)
        return [
            (EffectHandler(self._connection, (*turn, number)), flow)
            for number, flow in enumerate(effect.flows)
        ]

    def _numbered(self, request: LLMRequest) -> LLMRequest:
        self._effects += 1
        turn = (*self._turn, self._effects)
        return replace(request, turn=turn) if self._turn else request

    def _awaited(self, effect: Any) -> Any:
        """The answer of another flow; own claims are released before waiting for it."""
        if not isinstance(effect, AwaitShared):
            raise TypeError(
                f"a memory yielded {effect!r}, which is not an effect. Write 'yield "
                "from' to run another flow."
            )
        self.release()
        return self._services.shared.pending(effect.key)

    def _share(self, effect: AcquireShared | PublishShared) -> Any:
        """Claims keys, or publishes claimed ones.

        After its first answer a gathered flow asks for itself: who would find what it
        needs, and in whose request, would depend on whose reply came first.
        """
        shared = self._services.shared
        alone = bool(self._turn and self._effects)
        if isinstance(effect, AcquireShared):
            if alone:
                return SharedAnswers({}, list(effect.keys), [])
            claimed = shared.claim(effect.keys)
            self._claims.update(claimed.ours)
            return claimed
        values = dict(effect.values)
        if alone:
            values = {k: v for k, v in values.items() if k in self._claims}
        self._claims.difference_update(values)
        return self._services.publish(values)


def _outcomes(outcomes: Iterable[Any]) -> list[Any]:
    """The outcomes of gathered flows; an error that is not a fault is raised."""
    found = list(outcomes)
    for outcome in found:
        if isinstance(outcome, BaseException) and not isinstance(outcome, FAULTS):
            raise outcome
    return found
