"""An agent's own reasoning through the same client as its memory.

``route_reasoning(agent)`` replaces ``agent.llm``, so that retries, deadlines, limits, the
ledger and the budget hold for the whole agent. Where an agent of Mesa-LLM has ``act()``,
whose requests show no memory, they carry it from then on.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from mesa_memory.core.render import NOTHING_RECENT
from mesa_memory.core.requests import ChatRequest
from mesa_memory.core.validate import checked_int
from mesa_memory.hosts.mesa.model import clock
from mesa_memory.hosts.mesa_llm.agents import (
    LLMPlace,
    show_memory_to_actions,
    surround_plans,
)
from mesa_memory.hosts.mesa_llm.prompts import cache_layout, shows_memory
from mesa_memory.runtime.loop import background
from mesa_memory.runtime.services import Services

#: the agent that plans here and now, and what was read of its memory for it
_planning: ContextVar[tuple[Any, Mapping[str, str]] | None] = ContextVar(
    "planning", default=None
)


class ReasoningLLM(LLMPlace):
    """Takes the place of Mesa-LLM's ``ModuleLLM`` in an agent.

    Attributes:
        block: see ``route_reasoning``.
    """

    def __init__(self, agent: Any) -> None:
        super().__init__(agent.llm)
        self._agent = agent
        self.block: int | None = None

    def generate(self, *args: Any, **given: Any) -> Any:
        """The response to a prompt, as litellm gives it; arguments as in Mesa-LLM.

        Raises:
            LLMError: if the model does not answer.
            HostChanged: if more is given than is known here.
            TypeError: if the prompt is neither text nor a list of texts.
        """
        return self._services.complete(self._request(*args, **given)).raw

    async def agenerate(self, *args: Any, **given: Any) -> Any:
        """``generate``, for event loops."""
        work = self._services.acomplete(self._request(*args, **given))
        return (await asyncio.wrap_future(background.submit(work))).raw

    @property
    def _services(self) -> Services:
        return Services.of(self._agent.model)

    def _request(
        self,
        prompt: str | list[str] | None = None,
        tool_schema: list[dict] | None = None,
        tool_choice: str = "auto",
        response_format: Any = None,
        system_prompt: str | None = None,
        **more: Any,
    ) -> ChatRequest:
        """The request of a call of Mesa-LLM; without tools there is nothing to choose.

        Args:
            more: what only some versions of Mesa-LLM give: ``suppress_thinking``.
        """
        given = {
            "tools": tool_schema or None,
            "tool_choice": tool_choice if tool_schema else None,
            "response_format": response_format,
            **self.options(more),
        }
        text = (self.system_prompt if system_prompt is None else system_prompt) or ""
        messages, edges = self._cache_layout(self.messages(prompt, text))
        return ChatRequest(
            "reasoning",
            self._agent.unique_id,
            clock(self._agent.model),
            text,
            "",
            schema=None,
            model=self.llm_model,
            api_base=self.api_base,
            chat=messages,
            given={name: value for name, value in given.items() if value is not None},
            cut=edges,
        )

    def _cache_layout(self, messages: list[dict[str, str]]) -> tuple[tuple, tuple]:
        """The messages with the edges at which a cache may cut them."""
        agent, read = _planning.get() or (None, {})
        if agent is self._agent:
            task = getattr(agent, "step_prompt", None)
            found = cache_layout(messages, read, agent.memory.steady, task)
            if found is not None:
                return found.messages, found.edges
            if shows_memory(messages, read):
                self._services.say_once(
                    "The request with which %s plans is not worded as Mesa-LLM 0.3.2 "
                    "words it. It is sent as it is: its beginning changes in each "
                    "step, so that no provider can read it from a cache.",
                    type(agent.reasoning).__name__,
                )
        return tuple(messages), ()


def route_reasoning(agent: Any, block: int | None = None) -> ReasoningLLM:
    """Sends the agent's reasoning through the services of its model.

    Each request with which the agent plans or acts then shows its memory once. The one
    that turns a finished plan into calls of tools shows none, as in Mesa-LLM.

    By default requests are worded as Mesa-LLM words them and show exactly what the
    memory holds. With ``block``, those of CoT, ReAct and ReWOO are laid out so that
    providers can cache their prefix: the parts that change least come first.

    Args:
        block: number of recent steps that leave such a request at a time, such as 5.
            Until then up to ``block - 1`` steps more are shown than the memory holds;
            1 shows exactly those. None keeps Mesa-LLM's order.

    Returns:
        The new ``agent.llm``; routing again changes nothing but ``block``.

    Raises:
        HostChanged: if this version of Mesa-LLM is not known.
        ValueError: if block is not a whole number above 0.
    """
    chosen = None if block is None else checked_int("block", block)
    if not isinstance(agent.llm, ReasoningLLM):
        agent.llm = ReasoningLLM(agent)
    agent.llm.block = chosen
    surround_plans(agent, planning)
    show_memory_to_actions(agent, with_memory)
    return agent.llm


@contextmanager
def planning(agent: Any) -> Iterator[None]:
    """Meanwhile the agent's requests, and its reads of its memory, are laid out."""
    block = getattr(agent.llm, "block", None)
    reads = getattr(agent.memory, "cache_layout", None)
    if block is None or reads is None or not isinstance(agent.llm, ReasoningLLM):
        yield
        return
    before = _planning.get()
    with reads(block) as texts:
        _planning.set((agent, texts))
        try:
            yield
        finally:
            _planning.set(before)


def with_memory(agent: Any, prompt: Any) -> Any:
    """A prompt after the text of the agent's memory, unless that stands in it already.

    Args:
        prompt: a text or a list of texts.
    """
    memory: Any = getattr(agent, "memory", None)
    if not hasattr(memory, "get_prompt_ready"):
        return prompt
    texts = [prompt] if isinstance(prompt, str) else list(prompt)
    if any(part in text for part in _parts(memory) for text in texts):
        return prompt
    with planning(agent):
        shown = memory.get_prompt_ready()
    # Whoever chooses actions in a class of its own gets what it was given.
    return f"{shown}\n\n{prompt}" if isinstance(prompt, str) else [shown, *texts]


def _parts(memory: Any) -> list[str]:
    """The texts in which a memory shows itself; to look at them leaves no trace."""
    names = ("get_prompt_ready", "format_long_term", "format_short_term")
    reads = [getattr(memory, name, lambda: "") for name in names]
    if not hasattr(memory, "peek"):
        found = [read() for read in reads]
    else:
        with memory.peek():
            found = [read() for read in reads]
    parts = (str(text).strip() for text in found)
    return [part for part in parts if part and part != NOTHING_RECENT.strip()]
