"""Sends requests with the package's litellm client, as the services do."""

import asyncio
import os
import time
from functools import cache
from typing import Any

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("OPENAI_API_KEY", "test")

from mesa_memory import LLMRequest, LLMSettings
from mesa_memory.background import background
from mesa_memory.llm.litellm import LiteLLM
from mesa_memory.tasks.consolidate import Summary
from tests.support.openai_server import OpenAIServer

#: seconds by which a busy machine may be late
SLACK = 1.5


def client(jitter: object = 1, **settings: Any) -> LiteLLM:
    """A client that is quick to lose patience, unless told otherwise."""
    warm_up()
    quick = {"timeout": 0.5, "attempts": 3, "deadline": 5.0, "backoff": 0.01}
    return LiteLLM(LLMSettings(**{**quick, **settings}), seed=jitter)


def question(server: Any, model: str = "openai/test", **parts: Any) -> LLMRequest:
    """A request of agent 7 at step 3."""
    base = getattr(server, "base", server)
    given = {"system": "Be brief.", "prompt": "Write a summary.", "schema": Summary}
    given |= {"model": model, "api_base": base} | parts
    return LLMRequest("consolidate", 7, 3, **given)


def ask(llm: LiteLLM, request: LLMRequest) -> Any:
    """The reply, from the background loop."""
    return background.submit(llm.acomplete(request)).result(timeout=60)


def ask_all(llm: LiteLLM, requests: list[LLMRequest]) -> list[Any]:
    """The replies and errors of requests sent at once."""

    async def together():
        asked = [llm.acomplete(request) for request in requests]
        return await asyncio.gather(*asked, return_exceptions=True)

    return background.submit(together()).result(timeout=60)


@cache
def warm_up() -> None:
    """Sends a request once, so that later ones wait for nothing to be loaded."""
    with OpenAIServer() as server:
        patient = LiteLLM(LLMSettings(timeout=60, deadline=60), seed=1)
        ask(patient, question(server))


class Watch:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """Until now."""
        return time.monotonic() - self._began
