"""Performs what the flows of one memory yield: requests, and work at the same time."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from mesa_memory.core.embedding import EmbedRequest
from mesa_memory.core.requests import (
    FAULTS,
    AcquireShared,
    AwaitShared,
    Effect,
    Flow,
    Gather,
    LLMRequest,
    PublishShared,
    SharedAnswers,
    arun,
    run,
)
from mesa_memory.runtime import reasoning  # noqa: F401, stands between agents and LLMs
from mesa_memory.runtime.loop import background


class EffectHandler:
    """Performs the effects of one flow, and gives its open claims back at the end.

    Args:
        connection: of the memory; what a user has put in the place of its llm object is
            asked for anew with each request.
        turn: of a gathered flow its place among all; empty for any other.
    """

    def __init__(self, connection: Any, turn: tuple[int, ...] = ()) -> None:
        self._connection, self._services = connection, connection.services
        self.instant = connection.instant
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
        if isinstance(effect, AwaitShared):
            return self._awaited(effect).result()
        raise _no_effect(effect)

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
        if isinstance(effect, AwaitShared):
            return await asyncio.wrap_future(self._awaited(effect))
        raise _no_effect(effect)

    def release(self) -> None:
        """Ends the flow's claims, so that other flows do not wait for them."""
        if self._claims:
            self._services.shared.publish(dict.fromkeys(self._claims))
            self._claims.clear()

    async def drive(self, flow: Flow[Any]) -> Any:
        """The result of a gathered flow, or the fault that ended it."""
        try:
            return await arun(flow, self)
        except FAULTS as fault:
            return fault
        finally:
            self.release()

    def drive_here(self, flow: Flow[Any]) -> Any:
        """``drive``, blocking; any other error is returned, too."""
        try:
            return run(flow, self)
        except Exception as error:
            return error
        finally:
            self.release()

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

    def _awaited(self, effect: AwaitShared) -> Any:
        """The answer of another flow; own claims are released before waiting for it."""
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


def _no_effect(effect: Any) -> TypeError:
    return TypeError(
        f"a memory yielded {effect!r}, which is not an effect. Write 'yield from' to run another flow."
    )
