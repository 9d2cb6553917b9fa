"""Answers the effects of one flow, from the services of its model."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from mesa_memory.background import background
from mesa_memory.effects import (
    Await,
    Claim,
    Effect,
    LLMRequest,
    Publish,
    Together,
)
from mesa_memory.embedding import EmbedRequest
from mesa_memory.errors import LLMError
from mesa_memory.services import Services


class Performed:
    """Performs the effects of one flow, and gives its open claims back at the end.

    Args:
        replaced: gives what a user has put in place of the memory's Mesa-LLM llm
            object, else None; asked freshly for each request.
        instant: True if the flow's requests are answered without any waiting.
    """

    def __init__(
        self,
        services: Services,
        replaced: Callable[[], Any],
        instant: Callable[[], bool],
    ) -> None:
        self._services = services
        self._replaced = replaced
        self.instant = instant
        self._claims: set[str] = set()

    def perform(self, effect: Effect) -> Any:
        """The answer, blocking."""
        if isinstance(effect, LLMRequest):
            return self._services.complete(effect, self._replaced())
        if isinstance(effect, EmbedRequest):
            return self._services.embed(effect)
        if isinstance(effect, Together):
            return self._side_by_side(effect)
        if isinstance(effect, Await):
            return self._services.shared.pending(effect.key).result()
        return self._share(effect)

    async def aperform(self, effect: Effect) -> Any:
        """The answer, without blocking the event loop."""
        if isinstance(effect, LLMRequest):
            return await self._services.acomplete(effect, self._replaced())
        if isinstance(effect, EmbedRequest):
            if self._services.embeds_here:
                return self._services.embed(effect)
            return await asyncio.to_thread(self._services.embed, effect)
        if isinstance(effect, Together):
            asked = [self.aperform(part) for part in effect.effects]
            return await asyncio.gather(*asked, return_exceptions=True)
        if isinstance(effect, Await):
            pending = self._services.shared.pending(effect.key)
            return await asyncio.wrap_future(pending)
        return self._share(effect)

    def release(self) -> None:
        """The flow has ended: nobody shall wait for what it did not find."""
        if self._claims:
            self._services.shared.publish(dict.fromkeys(self._claims))
            self._claims.clear()

    def _side_by_side(self, effect: Together) -> list[Any]:
        """All at once in the background; one after the other where that is no gain."""
        waiting: list[Future | Effect] = list(effect.effects)
        if not self.instant() and not self._replaced():
            waiting = [background.submit(self.aperform(e)) for e in effect.effects]
        return [self._outcome(item) for item in waiting]

    def _outcome(self, item: Any) -> Any:
        try:
            return item.result() if isinstance(item, Future) else self.perform(item)
        except LLMError as error:
            return error

    def _share(self, effect: Effect) -> Any:
        shared = self._services.shared
        if isinstance(effect, Claim):
            claimed = shared.claim(effect.keys)
            self._claims.update(claimed.ours)
            return claimed
        if isinstance(effect, Publish):
            self._claims.difference_update(effect.values)
            return self._services.publish(effect.values)
        raise TypeError(
            f"a memory yielded {effect!r}, which is no effect; was a 'yield from' "
            "forgotten?"
        )
