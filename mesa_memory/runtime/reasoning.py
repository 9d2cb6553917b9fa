"""The requests of agents themselves, through the services of their model.

In a configured model, all requests that an agent of Mesa-LLM sends through ``agent.llm``
are counted, capped, retried, limited, recorded and replayed together with the requests of
memories. The agent gets the response that Mesa-LLM would return.

``arrange_prompts(agent)`` changes the requests: each shows the memory once.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import mesa_memory.llm.schemas as schemas
from mesa_memory.core.render import told
from mesa_memory.core.requests import ChatRequest
from mesa_memory.core.validate import checked_int
from mesa_memory.core.wording import ENGLISH
from mesa_memory.hosts.mesa.model import clock
from mesa_memory.hosts.mesa_llm.agent_llm import QUIET, LLMPlace, put_between
from mesa_memory.hosts.mesa_llm.agents import show_memory_to_actions, surround_plans
from mesa_memory.hosts.mesa_llm.prompts import cache_layout, shows_memory
from mesa_memory.llm.doubles.override import AgentOverride, is_replaced
from mesa_memory.runtime.loop import background
from mesa_memory.runtime.services import Services
from mesa_memory.tasks import find

#: of an agent's own requests, unless a call gives another one
PURPOSE = "reasoning"
#: of the requests of Mesa-LLM's own memories
MEMORY_PURPOSE = "memory"
#: further arguments of ``generate``, in order
_ARGUMENTS = ("tool_schema", "tool_choice", "response_format", "system_prompt")
#: the agent that plans here and now, and what was read of its memory for it
_planning: ContextVar[tuple[Any, Mapping[str, str]] | None] = ContextVar(
    "planning", default=None
)


class AgentLLM(LLMPlace):
    """Stands in for an agent's ``llm``, and sends its requests through the services.

    Attributes:
        agent: the agent.
        purpose: of its requests, unless a call gives another one.
        block: see ``arrange_prompts``.
        arranged: True after ``arrange_prompts``, which also covers agents of a model that
            was not configured.
    """

    OWN = LLMPlace.OWN | {"agent", "block", "arranged", "purpose"}

    def __init__(self, agent: Any, inner: Any, purpose: str = PURPOSE) -> None:
        super().__init__(inner)
        self.agent, self.purpose = agent, purpose
        self.block: int | None = None
        self.arranged = False

    def generate(
        self, prompt: Any = None, *args: Any, purpose: str | None = None, **given: Any
    ) -> Any:
        """The response to a prompt, as litellm gives it.

        Args:
            prompt, args, given: as in Mesa-LLM.
            purpose: names the request in the ledger and in the record; None takes
                ``reasoning``.

        Raises:
            LLMError: if the model does not answer.
            TypeError: if the prompt is neither text nor a list of texts.
            ValueError: if a memory asks for this purpose.
        """
        if not self._is_covered:
            return self.inner.generate(prompt, *args, **given)
        if is_replaced(self.inner, "generate"):
            request = self._request_of_own(purpose, prompt, args, given)
            own = AgentOverride(self.inner, (prompt, *args), given)
            return self._services.complete(request, own).raw
        request = self._request(purpose, prompt, *args, **given)
        return self._services.complete(request).raw

    async def agenerate(
        self, prompt: Any = None, *args: Any, purpose: str | None = None, **given: Any
    ) -> Any:
        """``generate``, for event loops."""
        if not self._is_covered:
            return await self.inner.agenerate(prompt, *args, **given)
        if is_replaced(self.inner, "agenerate"):
            request = self._request_of_own(purpose, prompt, args, given)
            own = AgentOverride(self.inner, (prompt, *args), given)
            # Code of the user's own stays in the event loop of the user.
            return (await self._services.acomplete(request, own)).raw
        request = self._request(purpose, prompt, *args, **given)
        work = self._services.acomplete(request)
        return (await asyncio.wrap_future(background.submit(work))).raw

    @property
    def _services(self) -> Services:
        return Services.of(self.agent.model)

    @property
    def _is_covered(self) -> bool:
        """True if requests go through the services; warns once without ``configure``."""
        services = self._services
        if services.agents is None and not self.arranged:
            services.say_once(
                "What agents ask themselves is not counted, capped or recorded in this "
                "model: call configure(model) before its agents are made, or "
                "configure(model, agents=False) to leave them alone."
            )
        return bool(services.agents or self.arranged)

    def _request(
        self,
        purpose: str | None,
        prompt: str | list[str] | None,
        tool_schema: list[dict] | None = None,
        tool_choice: str = "auto",
        response_format: Any = None,
        system_prompt: str | None = None,
        **more: Any,
    ) -> ChatRequest:
        """The request of a call of Mesa-LLM; without tools there is nothing to choose.

        Args:
            more: ``suppress_thinking`` of some versions of Mesa-LLM, and options of the
                provider, which are sent as they are.
        """
        given = {
            "tools": tool_schema or None,
            "tool_choice": tool_choice if tool_schema else None,
            "response_format": schemas.response_format(response_format),
            **self.options(more),
        }
        if unknown := ", ".join(sorted(more.keys() - {QUIET})):
            self._services.say_once(
                "generate() was called with %s, which mesa-memory does not know. It is "
                "sent to the provider as it is.",
                unknown,
            )
        if system_prompt is None:
            system_prompt = getattr(self.inner, "system_prompt", None)
        text = system_prompt if isinstance(system_prompt, str) else ""
        name, base = (getattr(self.inner, n, None) for n in ("llm_model", "api_base"))
        messages, edges = self._cache_layout(self.messages(prompt, text))
        return ChatRequest(
            self.purpose if purpose is None else _checked(purpose),
            self.agent.unique_id,
            clock(self.agent.model),
            text,
            "",
            schema=None,
            model=name if isinstance(name, str) else type(self.inner).__name__,
            api_base=base if isinstance(base, str) else None,
            chat=messages,
            given={name: value for name, value in given.items() if value is not None},
            cut=edges,
        )

    def _request_of_own(
        self, purpose: str | None, prompt: Any, args: tuple, given: Mapping[str, Any]
    ) -> ChatRequest:
        """The request to a user's own code, which takes what it likes."""
        texts = prompt if isinstance(prompt, list) else [prompt or ""]
        asked = prompt if all(isinstance(t, str) for t in texts) else str(prompt)
        known = {name: given[name] for name in _ARGUMENTS if name in given}
        return self._request(purpose, asked, *args[: len(_ARGUMENTS)], **known)

    def _cache_layout(self, messages: list[dict[str, str]]) -> tuple[tuple, tuple]:
        """The messages with the edges at which a cache may cut them."""
        agent, read = _planning.get() or (None, {})
        if agent is self.agent:
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


def _checked(purpose: str) -> str:
    """The purpose of an agent's own request."""
    if isinstance(purpose, str) and purpose.strip() and find(purpose) is None:
        return purpose
    raise ValueError(
        f"purpose must be a name that no task of a memory has, such as 'vote', got "
        f"{purpose!r}"
    )


def _of_agent(agent: Any, llm: Any, purpose: str = PURPOSE) -> AgentLLM | None:
    """The stand-in of an agent whose model has services; None elsewhere."""
    model = getattr(agent, "model", None)
    known = model is not None and Services.exist(model)
    return AgentLLM(agent, llm, purpose) if known else None


def _of_memory(memory: Any, llm: Any) -> AgentLLM | None:
    """The same for a memory of Mesa-LLM's own."""
    return _of_agent(memory.agent, llm, MEMORY_PURPOSE)


put_between(_of_agent, _of_memory)


def arrange_prompts(agent: Any, block: int | None = None) -> AgentLLM:
    """Arranges the requests of an agent around its memory.

    Each request with which the agent plans or acts then shows its memory once; the one
    that turns a finished plan into calls of tools shows none, as in Mesa-LLM. Requests
    are worded as Mesa-LLM words them, and show exactly what the memory holds. With
    ``block``, those of CoT, ReAct and ReWOO are laid out so that providers can cache
    their prefix: the parts that change least come first.

    The requests go through the services of the model, as ``configure(model)`` alone has
    it for all agents.

    Args:
        block: number of recent steps that leave such a request at a time, such as 5.
            Until then up to ``block - 1`` steps more are shown than the memory holds;
            1 shows exactly those. None keeps Mesa-LLM's order.

    Returns:
        ``agent.llm``; a second call changes nothing but ``block``.

    Raises:
        HostChanged: if this version of Mesa-LLM is not known.
        ValueError: if block is not a whole number above 0.
    """
    chosen = None if block is None else checked_int("block", block)
    if not isinstance(agent.llm, AgentLLM):
        agent.llm = AgentLLM(agent, agent.llm)
    agent.llm.block, agent.llm.arranged = chosen, True
    surround_plans(agent, planning)
    show_memory_to_actions(agent, with_memory)
    return agent.llm


@contextmanager
def planning(agent: Any) -> Iterator[None]:
    """Meanwhile the agent's requests, and its reads of its memory, are laid out."""
    block = getattr(agent.llm, "block", None)
    reads = getattr(agent.memory, "cache_layout", None)
    if block is None or reads is None or not isinstance(agent.llm, AgentLLM):
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
    context = getattr(memory, "layer_context", None)
    nothing = told(context.wording if context else ENGLISH, "nothing recent")
    parts = (str(text).strip() for text in found)
    return [part for part in parts if part and part != nothing]
