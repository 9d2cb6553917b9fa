"""The language model of Mesa-LLM's agents, and what stands between an agent and it.

Agents, reasonings and tools of Mesa-LLM ask ``agent.llm``, and Mesa-LLM calls no hook
before a request. So ``llm`` is a descriptor of its class of agents: it holds the object
that was put there, at any time, and returns a stand-in for it where there is one.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mesa_memory.hosts import changed
from mesa_memory.hosts.mesa_llm.agents import (
    UPGRADE_ADVICE,
    LLMAgent,
    Memory,
    ModuleLLM,
)


class LLMPlace:
    """Stands in for an agent's ``llm``, and delegates all attributes to it.

    Args:
        inner: what was put into ``agent.llm``.

    Raises:
        HostChanged: if Mesa-LLM makes messages in another way.
    """

    #: attributes of the stand-in itself; a subclass adds its own
    OWN: frozenset[str] = frozenset({"inner"})

    def __init__(self, inner: Any) -> None:
        if not hasattr(ModuleLLM, "_build_messages"):
            raise changed(
                "mesa-llm", "its ModuleLLM lacks _build_messages", UPGRADE_ADVICE
            )
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        if name in self.OWN or name.startswith("__"):  # not there yet
            raise AttributeError(name)
        return getattr(self.inner, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.OWN:
            object.__setattr__(self, name, value)
        elif getattr(value, "__self__", None) is self:
            vars(self.inner).pop(name, None)  # puts the stand-in's own method back
        else:
            setattr(self.inner, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.inner, name)

    @contextmanager
    def _one_shot_completion(self) -> Iterator[None]:
        """Switches Mesa-LLM's retries off for a request; already the case here."""
        yield

    def messages(self, prompt: Any, system: str) -> list[dict[str, str]]:
        """A prompt as messages, as Mesa-LLM makes them.

        Raises:
            TypeError: if the prompt is neither text nor a list of texts.
        """
        make = getattr(self.inner, "_build_messages", None)
        if make is None:  # a model of the user's own
            return list(ModuleLLM._build_messages(self.inner, prompt, system))
        return list(make(prompt, system))


class AgentLLMAttribute:
    """``LLMAgent.llm``, and the ``llm`` of Mesa-LLM's own memories.

    Args:
        stand_in: takes an agent or a memory, and what was put into its ``llm``; gives
            the stand-in, or None to leave it.
    """

    def __init__(self, stand_in: Callable[[Any, Any], LLMPlace | None]) -> None:
        self._stand_in = stand_in

    def __get__(self, agent: Any, owner: Any = None) -> Any:
        if agent is None:
            return self
        try:
            held = vars(agent)["llm"]
        except KeyError:
            raise AttributeError(f"{type(agent).__name__} has no llm yet") from None
        if held is None or isinstance(held, LLMPlace):
            return held
        place = self._stand_in(agent, held)
        if place is not None:
            vars(agent)["llm"] = place
        return place or held

    def __set__(self, agent: Any, llm: Any) -> None:
        vars(agent)["llm"] = llm


def put_between(
    of_agent: Callable[[Any, Any], LLMPlace | None],
    of_memory: Callable[[Any, Any], LLMPlace | None],
) -> None:
    """Lets Mesa-LLM's agents and memories ask through stand-ins; see ``AgentLLMAttribute``."""
    LLMAgent.llm = AgentLLMAttribute(of_agent)
    Memory.llm = AgentLLMAttribute(of_memory)


def own_llm(agent: Any) -> Any:
    """The object that was put into an agent's ``llm``; None without one."""
    llm = getattr(agent, "llm", None)
    return llm.inner if isinstance(llm, LLMPlace) else llm
