"""Sends requests with the package's client of providers, as the services do."""

import asyncio
import os
from functools import cache
from typing import Any

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("OPENAI_API_KEY", "test")

from mesa_memory.llm import LLMRequest, LLMSettings
from mesa_memory.llm.client import ProviderClient
from mesa_memory.runtime.loop import background
from mesa_memory.tasks.consolidate import Summary
from tests.support.openai_server import OpenAIServer

#: seconds after which a request is said to hang
HUNG = 110


def client(jitter: object = 1, **settings: Any) -> ProviderClient:
    """A client that tries again soon; a busy server is given all the time it needs."""
    warm_up()
    soon = {"timeout": 60, "attempts": 3, "deadline": 100, "backoff": 0.01}
    return ProviderClient(LLMSettings(**{**soon, **settings}), seed=jitter)


def question(server: Any, model: str = "openai/test", **parts: Any) -> LLMRequest:
    """A request of agent 7 at step 3."""
    base = getattr(server, "base", server)
    given = {"system": "Be brief.", "prompt": "Write a summary.", "schema": Summary}
    given |= {"model": model, "api_base": base} | parts
    return LLMRequest("consolidate", 7, 3, **given)


def ask(llm: ProviderClient, request: LLMRequest) -> Any:
    """The reply, from the background loop."""
    return background.submit(llm.acomplete(request)).result(timeout=HUNG)


def ask_all(llm: ProviderClient, requests: list[LLMRequest]) -> list[Any]:
    """The replies and errors of requests sent at once."""

    async def together():
        asked = [llm.acomplete(request) for request in requests]
        return await asyncio.gather(*asked, return_exceptions=True)

    return background.submit(together()).result(timeout=HUNG)


@cache
def warm_up() -> None:
    """Sends a request once each way, so that later ones wait for nothing to be loaded."""
    with OpenAIServer() as server:
        for way in ("direct", "litellm"):
            patient = LLMSettings(client=way, timeout=60, deadline=60)
            ask(ProviderClient(patient, seed=1), question(server))
