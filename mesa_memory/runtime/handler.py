"""Answers the effects of one flow, from the services of its model."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from mesa_memory.core.embedding import EmbedRequest
from mesa_memory.core.requests import (
    FAULTS,
    Await,
    Claim,
    Claimed,
    Effect,
    Flow,
    Gather,
    LLMRequest,
    Publish,
    arun,
    run,
)
from mesa_memory.runtime.loop import background
from mesa_memory.runtime.services import Services


class EffectHandler:
    """Performs the effects of one flow, and gives its open claims back at the end.

    Args:
        replaced: gives what a user has put in place of the memory's Mesa-LLM llm
            object, else None; asked freshly for each request.
        instant: True if the flow's requests are answered without any waiting.
        turn: of a gathered flow its place among all; empty for any other.
    """

    def __init__(
        self,
        services: Services,
        replaced: Callable[[], Any],
        instant: Callable[[], bool],
        turn: tuple[int, ...] = (),
    ) -> None:
        self._services = services
        self._replaced = replaced
        self.instant = instant
        self._turn = turn
        self._effects = 0  # how many this flow has waited for
        self._claims: set[str] = set()

    def perform(self, effect: Effect) -> Any:
        """The answer, blocking."""
        if isinstance(effect, Claim | Publish):
            return self._share(effect)
        effect = self._numbered(effect)
        if isinstance(effect, LLMRequest):
            return self._services.complete(effect, self._replaced())
        if isinstance(effect, EmbedRequest):
            return self._services.embed(effect)
        if isinstance(effect, Gather):
            return self._gather(effect)
        if isinstance(effect, Await):
            return self._awaited(effect).result()
        raise _no_effect(effect)

    async def aperform(self, effect: Effect) -> Any:
        """The answer, without blocking the event loop."""
        if isinstance(effect, Claim | Publish):
            return self._share(effect)
        effect = self._numbered(effect)
        if isinstance(effect, LLMRequest):
            return await self._services.acomplete(effect, self._replaced())
        if isinstance(effect, EmbedRequest):
            return await self._services.aembed(effect)
        if isinstance(effect, Gather):
            flows = [branch.drive(flow) for branch, flow in self._branches(effect)]
            return _outcomes(await asyncio.gather(*flows, return_exceptions=True))
        if isinstance(effect, Await):
            return await asyncio.wrap_future(self._awaited(effect))
        raise _no_effect(effect)

    def release(self) -> None:
        """The flow has ended: nobody shall wait for what it did not find."""
        if self._claims:
            self._services.shared.publish(dict.fromkeys(self._claims))
            self._claims.clear()

    async def drive(self, flow: Flow[Any]) -> Any:
        """What a gathered flow returns, or the fault that ended it."""
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
        """All in the background; one after the other where that is no gain."""
        branches = self._branches(effect)
        if self.instant() or self._replaced():
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
        """A performer of its own for each flow: what one leaves open ends with it."""
        self.release()
        turn = (*self._turn, self._effects)
        if not self._turn:
            turn = (self._services.bus.next_place(),)
        given = (self._services, self._replaced, self.instant)
        return [
            (EffectHandler(*given, (*turn, number)), flow)
            for number, flow in enumerate(effect.flows)
        ]

    def _numbered(self, effect: Effect) -> Effect:
        self._effects += 1
        if self._turn and isinstance(effect, LLMRequest):
            return replace(effect, turn=(*self._turn, self._effects))
        return effect

    def _awaited(self, effect: Await) -> Any:
        """Somebody else's answer; who waits for it holds back nothing of others."""
        self.release()
        return self._services.shared.pending(effect.key)

    def _share(self, effect: Claim | Publish) -> Any:
        """Claims, or publishes what was claimed.

        After its first answer a gathered flow asks for itself: who would find what it
        needs, and in whose request, would depend on whose reply came first.
        """
        shared = self._services.shared
        alone = bool(self._turn and self._effects)
        if isinstance(effect, Claim):
            if alone:
                return Claimed({}, list(effect.keys), [])
            claimed = shared.claim(effect.keys)
            self._claims.update(claimed.ours)
            return claimed
        values = dict(effect.values)
        if alone:
            values = {k: v for k, v in values.items() if k in self._claims}
        self._claims.difference_update(values)
        return self._services.publish(values)


def _outcomes(outcomes: Iterable[Any]) -> list[Any]:
    """What gathered flows gave; an error that is no fault is a bug, and raised."""
    found = list(outcomes)
    for outcome in found:
        if isinstance(outcome, BaseException) and not isinstance(outcome, FAULTS):
            raise outcome
    return found


def _no_effect(effect: Any) -> TypeError:
    return TypeError(
        f"a memory yielded {effect!r}, which is no effect; was a 'yield from' forgotten?"
    )
