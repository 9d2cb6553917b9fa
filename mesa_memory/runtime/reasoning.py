"""An agent's own reasoning through the same client as its memory.

``route_reasoning(agent)`` replaces ``agent.llm``, so that retries, deadlines, limits, the
ledger and the budget hold for the whole agent. Where an agent of Mesa-LLM has ``act()``,
whose requests show no memory, they carry it from then on.
"""

import asyncio
import warnings
from typing import Any

from mesa_memory.core.render import NOTHING_RECENT
from mesa_memory.core.requests import ChatRequest
from mesa_memory.hosts.mesa import clock
from mesa_memory.hosts.mesa_llm import LLMPlace, show_memory_to_actions
from mesa_memory.runtime.loop import background
from mesa_memory.runtime.services import Services


class ReasoningLLM(LLMPlace):
    """Takes the place of Mesa-LLM's ``ModuleLLM`` in an agent."""

    def __init__(self, agent: Any) -> None:
        super().__init__(agent.llm)
        self._agent = agent

    def generate(
        self,
        prompt: str | list[str] | None = None,
        tool_schema: list[dict] | None = None,
        tool_choice: str = "auto",
        response_format: Any = None,
        system_prompt: str | None = None,
        **more: Any,
    ) -> Any:
        """The response to a prompt, as litellm gives it; see Mesa-LLM.

        Args:
            **more: what only some versions of Mesa-LLM give: ``suppress_thinking``.

        Raises:
            LLMError: if there is none.
            HostChanged: if more is given than is known here.
            TypeError: if the prompt is neither text nor a list of texts.
        """
        options = self._options(tool_schema, tool_choice, response_format, more)
        request = self._request(prompt, system_prompt, options)
        return self._services.complete(request).raw

    async def agenerate(
        self,
        prompt: str | list[str] | None = None,
        tool_schema: list[dict] | None = None,
        tool_choice: str = "auto",
        response_format: Any = None,
        system_prompt: str | None = None,
        **more: Any,
    ) -> Any:
        """``generate``, for event loops."""
        options = self._options(tool_schema, tool_choice, response_format, more)
        request = self._request(prompt, system_prompt, options)
        work = background.submit(self._services.acomplete(request))
        return (await asyncio.wrap_future(work)).raw

    @property
    def _services(self) -> Services:
        return Services.of(self._agent.model)

    def _options(
        self, tools: Any, choice: Any, form: Any, more: dict[str, Any]
    ) -> dict[str, Any]:
        """Provider arguments; without tools there is nothing to choose from."""
        given = {
            "tools": tools or None,
            "tool_choice": choice if tools else None,
            "response_format": form,
            **self.options(more),
        }
        return {name: value for name, value in given.items() if value is not None}

    def _request(
        self, prompt: Any, system: str | None, given: dict[str, Any]
    ) -> ChatRequest:
        text = (self.system_prompt if system is None else system) or ""
        return ChatRequest(
            "reasoning",
            self._agent.unique_id,
            clock(self._agent.model),
            text,
            "",
            schema=None,
            model=self.llm_model,
            api_base=self.api_base,
            chat=tuple(self.messages(prompt, text)),
            given=given,
        )


def route_reasoning(agent: Any) -> ReasoningLLM:
    """Sends the agent's reasoning through the services of its model.

    Each request with which the agent plans or acts then shows its memory once. The one
    that turns a finished plan into calls of tools shows none, as in Mesa-LLM.

    Returns:
        The new ``agent.llm``; routing again changes nothing.

    Raises:
        HostChanged: if this version of Mesa-LLM is not known.
    """
    if not isinstance(agent.llm, ReasoningLLM):
        agent.llm = ReasoningLLM(agent)
    show_memory_to_actions(agent, with_memory)
    return agent.llm


def wrap(agent: Any) -> ReasoningLLM:
    """The former name of ``route_reasoning``."""
    warnings.warn(
        "wrap(agent) is called route_reasoning(agent) now",
        DeprecationWarning,
        stacklevel=2,
    )
    return route_reasoning(agent)


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
