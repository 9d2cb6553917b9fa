"""Mesa-LLM: its memory, its language model, and how its agents choose actions.

Known are Mesa-LLM 0.3.2, and what its next version has in public: agents with ``act()``,
whose requests show no memory, and a ``generate`` that can ask a model not to think.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any

from mesa_memory.hosts import changed

UPGRADE_ADVICE = "Use a supported version: pip install 'mesa-llm>=0.3.2,<0.5'."

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
    "show_memory_to_actions",
]

#: gives the prompt of an agent's request, with its memory
type Shown = Callable[[Any, Any], Any]


def show_memory_to_actions(agent: Any, shown: Shown) -> None:
    """Lets the requests with which an agent chooses an action carry its memory.

    An agent without actions stays as it is; again changes nothing.

    Args:
        shown: called with the agent and the prompt of a request; gives its prompt.

    Raises:
        HostChanged: if Mesa-LLM's agents choose actions in another way.
    """
    base = _own_class(agent)
    if not hasattr(base, "act"):
        return
    for act, choose in (("act", "choose_action"), ("aact", "achoose_action")):
        if not hasattr(base, choose):
            raise changed(
                "mesa-llm", f"its agents have {act}(), no {choose}()", UPGRADE_ADVICE
            )
        if not isinstance(vars(agent).get(choose), _Choosing):
            setattr(agent, choose, _Choosing(agent, choose, shown))


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


def give_tools(
    agent: Any,
    reads: Sequence[Callable[..., str]],
    writes: Sequence[Callable[..., str]],
) -> None:
    """Offers functions to the language model of one agent; again changes nothing.

    Each takes the agent first, and says in a docstring of Google's style what it does
    and what its arguments mean.

    Args:
        reads: tools.
        writes: actions, where agents have any; else tools, too.

    Raises:
        HostChanged: if the agent lacks a manager of tools.
    """
    tools = getattr(agent, "_tool_manager", None)
    tools = getattr(agent, "tool_manager", None) if tools is None else tools
    if tools is None:
        raise changed("mesa-llm", "its agents lack a manager of tools", UPGRADE_ADVICE)
    from mesa_llm.tools.tool_decorator import tool

    actions = getattr(agent, "_action_manager", None)
    if actions is not None:
        from mesa_llm.actions import action

        for function in writes:
            action(function, action_manager=actions)
        writes = ()
    for function in (*reads, *writes):
        tool(function, tool_manager=tools)


def _own_class(agent: Any) -> Any:
    """Mesa-LLM's class of agents; None for an agent of another kind."""
    kinds = (k for k in type(agent).__mro__ if k.__module__ == "mesa_llm.llm_agent")
    return next(kinds, None)


class _Choosing:
    """An agent choosing an action, with its memory in the prompt.

    The method is looked up when it is called, so that copies have theirs.
    """

    def __init__(self, agent: Any, name: str, shown: Shown) -> None:
        self.agent, self.name, self.shown = agent, name, shown

    def __call__(self, prompt: Any, *args: Any, **given: Any) -> Any:
        method = getattr(type(self.agent), self.name).__get__(self.agent)
        return method(self.shown(self.agent, prompt), *args, **given)


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
