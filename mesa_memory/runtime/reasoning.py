"""The requests of agents themselves, through the services of their model.

In a configured model, all requests that an agent of Mesa-LLM sends through ``agent.llm``
are counted, capped, retried, limited, recorded and replayed together with the requests of
memories. The agent gets the response that Mesa-LLM would return.

``arrange_prompts(agent)`` changes the requests: each shows the memory once.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

import mesa_memory.llm.schemas as schemas
from mesa_memory.core.requests import REASONING, ChatRequest
from mesa_memory.hosts.mesa import clock
from mesa_memory.hosts.mesa_llm import LLMPlace, plan_about_prompts, put_between
from mesa_memory.llm.doubles.override import AgentOverride, is_replaced
from mesa_memory.runtime.loop import background
from mesa_memory.runtime.services import Services
from mesa_memory.tasks import find

#: of the requests of Mesa-LLM's own memories
MEMORY_PURPOSE = "memory"
#: further arguments of ``generate``, in order
_ARGUMENTS = ("tool_schema", "tool_choice", "response_format", "system_prompt")


class AgentLLM(LLMPlace):
    """Stands in for an agent's ``llm``, and sends its requests through the services.

    Attributes:
        agent: the agent.
        purpose: of its requests, unless a call gives another one.
        arranged: True after ``arrange_prompts``, which also covers agents of a model that
            was not configured.
    """

    OWN = LLMPlace.OWN | {"agent", "arranged", "purpose"}

    def __init__(self, agent: Any, inner: Any, purpose: str = REASONING) -> None:
        super().__init__(inner)
        self.agent, self.purpose = agent, purpose
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
        asked = self._asked("generate", purpose, (prompt, *args), given)
        return self._services.complete(*asked).raw

    async def agenerate(
        self, prompt: Any = None, *args: Any, purpose: str | None = None, **given: Any
    ) -> Any:
        """``generate``, for event loops."""
        if not self._is_covered:
            return await self.inner.agenerate(prompt, *args, **given)
        request, own = self._asked("agenerate", purpose, (prompt, *args), given)
        work = self._services.acomplete(request, own)
        if own is not None:  # code of the user's own stays in the user's event loop
            return (await work).raw
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

    def _asked(
        self, method: str, purpose: str | None, args: tuple, given: Mapping[str, Any]
    ) -> tuple[ChatRequest, AgentOverride | None]:
        """The request of a call, and the user's own code that answers it, if any.

        That takes what it likes: of its arguments only those of Mesa-LLM are known.
        """
        if not is_replaced(self.inner, method):
            return self._request(purpose, *args, **given), None
        prompt, *others = args
        texts = prompt if isinstance(prompt, list) else [prompt or ""]
        asked = prompt if all(isinstance(t, str) for t in texts) else str(prompt)
        known = {name: given[name] for name in _ARGUMENTS if name in given}
        request = self._request(purpose, asked, *others[: len(_ARGUMENTS)], **known)
        return request, AgentOverride(self.inner, args, given)

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
            more: options of the provider, such as ``temperature``, sent as they are.
        """
        given = {
            "tools": tool_schema or None,
            "tool_choice": tool_choice if tool_schema else None,
            "response_format": schemas.response_format(response_format),
            **more,
        }
        if unknown := ", ".join(sorted(more)):
            self._services.say_once(
                "generate() was called with %s, which mesa-memory does not know. It is "
                "sent to the provider as it is.",
                unknown,
            )
        if system_prompt is None:
            system_prompt = getattr(self.inner, "system_prompt", None)
        text = system_prompt if isinstance(system_prompt, str) else ""
        name, base = (getattr(self.inner, n, None) for n in ("llm_model", "api_base"))
        return ChatRequest(
            self.purpose if purpose is None else _checked(purpose),
            self.agent.unique_id,
            clock(self.agent.model),
            text,
            "",
            schema=None,
            model=name if isinstance(name, str) else type(self.inner).__name__,
            api_base=base if isinstance(base, str) else None,
            chat=tuple(self.messages(prompt, text)),
            given={name: value for name, value in given.items() if value is not None},
        )


def _checked(purpose: str) -> str:
    """The purpose of an agent's own request."""
    if isinstance(purpose, str) and purpose.strip() and find(purpose) is None:
        return purpose
    raise ValueError(
        f"purpose must be a name that no task of a memory has, such as 'vote', got "
        f"{purpose!r}"
    )


def _of_agent(agent: Any, llm: Any, purpose: str = REASONING) -> AgentLLM | None:
    """The stand-in of an agent whose model has services; None elsewhere."""
    model = getattr(agent, "model", None)
    known = model is not None and Services.exist(model)
    return AgentLLM(agent, llm, purpose) if known else None


def _of_memory(memory: Any, llm: Any) -> AgentLLM | None:
    """The same for a memory of Mesa-LLM's own."""
    return _of_agent(memory.agent, llm, MEMORY_PURPOSE)


put_between(_of_agent, _of_memory)


def arrange_prompts(agent: Any) -> AgentLLM:
    """Lets each request with which an agent plans show its memory once.

    The request that turns a finished plan into calls of tools shows none, as in Mesa-LLM.
    Requests are worded as Mesa-LLM words them, and show exactly what the memory holds.
    A prompt that is given to ``plan`` or ``aplan``, and is not the agent's
    ``step_prompt``, is the question that its memory recalls for.
    They go through the services of the model, as ``configure(model)`` alone has it for
    all agents.

    Returns:
        ``agent.llm``; a second call changes nothing.

    Raises:
        HostChanged: if this version of Mesa-LLM is not known.
    """
    if not isinstance(agent.llm, AgentLLM):
        agent.llm = AgentLLM(agent, agent.llm)
    agent.llm.arranged = True
    plan_about_prompts(agent)
    return agent.llm
