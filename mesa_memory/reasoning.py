"""An agent's own reasoning through the same client as its memory.

``wrap(agent)`` replaces ``agent.llm``, so that retries, deadlines, limits, the ledger
and the budget hold for the whole agent.
"""

import asyncio
from typing import Any

from mesa_memory.background import background
from mesa_memory.effects import ChatRequest
from mesa_memory.services import Services


class ReasoningLLM:
    """Takes the place of Mesa-LLM's ``ModuleLLM`` in an agent."""

    def __init__(self, agent: Any) -> None:
        self._agent = agent
        self._inner = agent.llm
        self.llm_model: str = agent.llm.llm_model
        self.api_base: str | None = agent.llm.api_base
        self.system_prompt: str | None = agent.llm.system_prompt

    def generate(
        self,
        prompt: str | list[str] | None = None,
        tool_schema: list[dict] | None = None,
        tool_choice: str = "auto",
        response_format: Any = None,
        system_prompt: str | None = None,
    ) -> Any:
        """The response to a prompt, as litellm gives it; see Mesa-LLM.

        Raises:
            LLMError: if there is none.
            TypeError: if the prompt is neither text nor a list of texts.
        """
        request = self._request(
            prompt, tool_schema, tool_choice, response_format, system_prompt
        )
        return self._services.complete(request).raw

    async def agenerate(
        self,
        prompt: str | list[str] | None = None,
        tool_schema: list[dict] | None = None,
        tool_choice: str = "auto",
        response_format: Any = None,
        system_prompt: str | None = None,
    ) -> Any:
        """``generate``, for event loops."""
        request = self._request(
            prompt, tool_schema, tool_choice, response_format, system_prompt
        )
        work = background.submit(self._services.acomplete(request))
        return (await asyncio.wrap_future(work)).raw

    @property
    def _services(self) -> Services:
        return Services.of(self._agent.model)

    def _request(
        self, prompt: Any, tools: Any, choice: str, form: Any, system: str | None
    ) -> ChatRequest:
        from mesa_memory.hosts.mesa import clock

        given = {
            "tools": tools or None,
            "tool_choice": choice if tools else None,
            "response_format": form,
        }
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
            chat=tuple(self._inner._build_messages(prompt, text)),
            given={k: v for k, v in given.items() if v is not None},
        )


def wrap(agent: Any) -> ReasoningLLM:
    """Sends the agent's reasoning through the services of its model.

    Returns:
        The new ``agent.llm``; wrapping again changes nothing.
    """
    if not isinstance(agent.llm, ReasoningLLM):
        agent.llm = ReasoningLLM(agent)
    return agent.llm
