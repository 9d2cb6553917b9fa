"""Which model judges what sentences say: that of the model that is played, or a named one.

It is asked by the researcher who looks at a page; no agent knows of it.
"""

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any

from mesa_memory.core.requests import LLMRequest
from mesa_memory.hosts.mesa.model import clock
from mesa_memory.llm.cost.ledger import price_of
from mesa_memory.llm.doubles.offline import OfflineLLM
from mesa_memory.llm.doubles.override import module_llm
from mesa_memory.llm.doubles.policy import PROVIDER
from mesa_memory.memories.host.memory_module import MemoryModule
from mesa_memory.runtime.researcher import Researcher
from mesa_memory.runtime.services import Services
from mesa_memory.viz.data.spread.verdicts import REPLY_TOKENS
from mesa_memory.viz.live.by_hand import waiting
from mesa_memory.viz.run_view import Source


@dataclass(frozen=True)
class Judge:
    """A model that can be asked.

    Attributes:
        name: how people call it.
        services: by which it is asked.
        model, api_base: where requests are sent; None is what the services say.
        own: gives what answers in place of the model, or None.
        turn: each request is made within such a context.
    """

    name: str
    services: Services
    model: str | None
    api_base: str | None
    own: Callable[[], Any]
    turn: Callable[[], AbstractContextManager[Any]]

    def researcher(self) -> Researcher:
        """Asks it, and counts what that takes."""
        return Researcher(self.services, self.own, self.turn)

    def expected(self, requests: Sequence[LLMRequest]) -> float | None:
        """US dollars that requests of the task ``same`` will cost; None if unknown."""
        settings = self.services.settings
        tier = str(settings.options.get("service_tier") or "")
        total = 0.0
        for request in requests:
            price = price_of(self.services.live_client(request), request.model)
            if price is None:
                return None
            reply = REPLY_TOKENS * len(request.inputs["lines"])
            total += price.cost(request.tokens, reply, tier=tier)
        return total


def called(model: str) -> str:
    """The name of a model; what needs none is called a rule."""
    offline = model.partition("/")[0] == PROVIDER
    return "a rule of words (offline)" if offline else model


def named(model: str, api_base: str | None = None) -> Judge:
    """A judge for runs that are only read.

    Args:
        model: ``"offline"`` or ``"provider/model"``.
        api_base: address of the provider, for own servers.

    Raises:
        ValueError: for a name without provider, or a missing API key.
    """
    if model != PROVIDER:
        module_llm(model, api_base)
    turns = threading.Lock()
    return Judge(
        called(model), Services(), model, api_base, lambda: None, lambda: turns
    )


def judge_of(source: Source) -> Judge | None:
    """Who judges on the page of a run; None if nobody can be asked.

    The model of a run that is played is asked as the memory of its first agent asks.
    """
    played = source.model
    if played is None:
        return source.judge
    for agent in played.agents:
        memory = getattr(agent, "memory", None)
        if isinstance(memory, MemoryModule):
            outside = memory.layer_context.outside
            model, api_base = outside.target()
            turn = partial(waiting, played)
            llm = outside.services.llm
            own = llm is not None and not isinstance(llm, OfflineLLM)
            name = type(llm).__name__ if own else called(model or PROVIDER)
            services = outside.services
            return Judge(name, services, model, api_base, outside.replaced, turn)
    return None


def time_of(source: Source) -> float:
    """When a request is made: now, or at the end of a run that is only read."""
    return source.steps[-1] if source.model is None else clock(source.model)
