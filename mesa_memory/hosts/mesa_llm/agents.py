"""Mesa-LLM: its memory, its language model, and the plans and tools of its agents."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any

from mesa_memory.hosts import changed

UPGRADE_ADVICE = "Use a supported version: pip install 'mesa-llm>=0.3.2,<0.4'."

try:
    from mesa_llm.llm_agent import LLMAgent
    from mesa_llm.memory.memory import Memory, MemoryEntry
    from mesa_llm.module_llm import ModuleLLM
except ImportError as error:
    raise changed(
        "mesa-llm",
        f"it cannot be imported ({error})",
        "Versions up to 0.3.2 need Mesa 3: pip install 'mesa>=3.5.1,<4'.",
    ) from error

__all__ = [
    "LLMAgent",
    "Memory",
    "MemoryEntry",
    "ModuleLLM",
    "forget_tools",
    "give_tools",
    "plan_about_prompts",
]


def plan_about_prompts(agent: Any) -> None:
    """Lets what an agent is shown while it plans be about the prompt of its plan.

    Again changes nothing, nor does an agent without Mesa-LLM's reasoning. A prompt that
    is the agent's ``step_prompt`` is a task, not a question of the step.
    """
    reasoning = getattr(agent, "reasoning", None)
    for name in ("plan", "aplan"):
        own = hasattr(type(reasoning), name)
        if own and not isinstance(vars(reasoning).get(name), _Planning):
            setattr(reasoning, name, _Planning(agent, name))


def forget_tools(model: Any) -> None:
    """Takes the tools of a finished model's agents out of Mesa-LLM's list.

    The list is of the process and never shrinks. A tool that is a method of an agent
    would keep the agent and its model alive there.
    """
    for agent in model.agents:
        for manager in vars(agent).values():  # its attribute's name is to change
            listed = getattr(type(manager), "instances", None)
            if isinstance(listed, list):
                with suppress(ValueError):  # it is not in the list
                    listed.remove(manager)


def give_tools(agent: Any, tools: Sequence[Callable[..., str]]) -> None:
    """Offers functions to the language model of one agent; again changes nothing.

    Args:
        tools: each takes the agent first, and says in a docstring of Google's style what
            it does and what its arguments mean.

    Raises:
        HostChanged: if the agent lacks a manager of tools.
    """
    manager = getattr(agent, "tool_manager", None)
    if manager is None:
        raise changed("mesa-llm", "its agents lack a manager of tools", UPGRADE_ADVICE)
    from mesa_llm.tools.tool_decorator import tool

    for function in tools:
        tool(function, tool_manager=manager)


class _Planning:
    """An agent planning, with a memory that knows for what.

    The method is looked up when it is called, so that copies have theirs.
    """

    def __init__(self, agent: Any, name: str) -> None:
        self.agent, self.name = agent, name

    def __call__(self, *args: Any, **given: Any) -> Any:
        reasoning = self.agent.reasoning
        method = getattr(type(reasoning), self.name).__get__(reasoning)
        prompt = args[0] if args else given.get("prompt")
        about = getattr(self.agent.memory, "reads_about", None)
        task = getattr(self.agent, "step_prompt", None)
        if about is None or prompt == task or not isinstance(prompt, str):
            return method(*args, **given)
        if self.name == "aplan":
            return self._await(about(prompt), method(*args, **given))
        with about(prompt):
            return method(*args, **given)

    async def _await(self, about: AbstractContextManager, plan: Awaitable) -> Any:
        with about:
            await self.agent.memory.aprepare("observation", once=True)
            return await plan
