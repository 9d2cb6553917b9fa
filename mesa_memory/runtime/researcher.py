"""Requests of a researcher, which belong to no agent and to no memory."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from mesa_memory.core.requests import Effect, Flow, LLMRequest, Reply, run
from mesa_memory.llm.cost.ledger import Usage, price_of, usage_of
from mesa_memory.runtime.services import Services


class Researcher:
    """Asks by the services of a run, and counts what that took.

    Args:
        services: what is asked is in their ledger, budget and record.
        own: gives what answers in place of the configured model, or None.
        turn: each request is made within such a context.

    Attributes:
        used: what all answered requests took.
        models: who answered, in order of the first answer.
    """

    def __init__(
        self,
        services: Services,
        own: Callable[[], Any] = lambda: None,
        turn: Callable[[], AbstractContextManager[Any]] = nullcontext,
    ) -> None:
        self._services, self._own, self._turn = services, own, turn
        self.used = Usage()
        self.models: list[str] = []

    def ask[T](self, flow: Flow[T]) -> T:
        """What a flow of requests comes to, one after the other.

        Raises:
            LLMError: of the flow.
        """
        return run(flow, self)

    def instant(self) -> bool:
        """See ``Handler``."""
        return False

    def release(self) -> None:
        """See ``Handler``."""

    def perform(self, effect: Effect) -> Reply:
        """The reply to a request."""
        if not isinstance(effect, LLMRequest):
            raise TypeError(f"a researcher only makes requests, got {effect!r}")
        with self._turn():
            own = self._own()
            reply = self._services.complete(effect, own)
        client = self._services.live_client(effect) if own is None else own
        model = reply.model or effect.model or ""
        self.used += usage_of(effect, reply, price_of(client, model))
        if model not in self.models:
            self.models.append(model)
        return reply

    async def aperform(self, effect: Effect) -> Reply:
        """``perform``, for event loops."""
        return await asyncio.to_thread(self.perform, effect)
