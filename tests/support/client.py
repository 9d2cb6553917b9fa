"""Sends requests with the package's litellm client, as the services do."""

import asyncio
import os
from functools import cache
from typing import Any

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("OPENAI_API_KEY", "test")

from mesa_memory import LLMRequest, LLMSettings
from mesa_memory.llm.litellm import LiteLLM
from mesa_memory.runtime.loop import background
from mesa_memory.tasks.consolidate import Summary
from tests.support.openai_server import OpenAIServer

#: seconds after which a request is said to hang
HUNG = 110


def client(jitter: object = 1, **settings: Any) -> LiteLLM:
    """A client that tries again soon; a busy server is given all the time it needs."""
    warm_up()
    soon = {"timeout": 60, "attempts": 3, "deadline": 100, "backoff": 0.01}
    return LiteLLM(LLMSettings(**{**soon, **settings}), seed=jitter)


def question(server: Any, model: str = "openai/test", **parts: Any) -> LLMRequest:
    """A request of agent 7 at step 3."""
    base = getattr(server, "base", server)
    given = {"system": "Be brief.", "prompt": "Write a summary.", "schema": Summary}
    given |= {"model": model, "api_base": base} | parts
    return LLMRequest("consolidate", 7, 3, **given)


def ask(llm: LiteLLM, request: LLMRequest) -> Any:
    """The reply, from the background loop."""
    return background.submit(llm.acomplete(request)).result(timeout=HUNG)


def ask_all(llm: LiteLLM, requests: list[LLMRequest]) -> list[Any]:
    """The replies and errors of requests sent at once."""

    async def together():
        asked = [llm.acomplete(request) for request in requests]
        return await asyncio.gather(*asked, return_exceptions=True)

    return background.submit(together()).result(timeout=HUNG)


@cache
def warm_up() -> None:
    """Sends a request once, so that later ones wait for nothing to be loaded."""
    with OpenAIServer() as server:
        patient = LiteLLM(LLMSettings(timeout=60, deadline=60), seed=1)
        ask(patient, question(server))
