"""Mesa-LLM's own ``memory.llm``, and code that puts something else in its place.

A memory's requests normally go through the services. Where a user has replaced
``memory.llm``, or its ``generate`` or ``agenerate`` (also on the class ``ModuleLLM``),
the replacement is asked, in Mesa-LLM's way.
"""

import asyncio
import inspect
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from mesa_memory.core.requests import LLMRequest, Reply, TokenCounts
from mesa_memory.core.text import redaction
from mesa_memory.core.text.replies import end_of
from mesa_memory.hosts.litellm import finish_reason
from mesa_memory.hosts.mesa_llm import ModuleLLM
from mesa_memory.llm.doubles.policy import PROVIDER, enable
from mesa_memory.llm.errors import from_provider, typed
from mesa_memory.llm.prices import Price, price
from mesa_memory.llm.schemas import sent_schema
from mesa_memory.tasks.consolidate import Summary

_ORIGINAL = {name: getattr(ModuleLLM, name) for name in ("generate", "agenerate")}


def module_llm(model: str, api_base: str | None) -> ModuleLLM:
    """Mesa-LLM's llm object for a model.

    Raises:
        ValueError: if the name is not ``provider/model`` or its key is missing.
    """
    if model.startswith(f"{PROVIDER}/"):
        enable()
    return ModuleLLM(llm_model=model, api_base=api_base)


def is_replaced(llm: Any, name: str) -> bool:
    """True if this method of ``llm`` is not Mesa-LLM's own."""
    own = getattr(type(llm), name, None)
    return own is not _ORIGINAL[name] or name in vars(llm)


def override(llm: Any) -> "LLMOverride | None":
    """The override of Mesa-LLM's llm object; None if it is unchanged."""
    if llm is None:
        return None
    if is_replaced(llm, "generate"):
        return GenerateOverride(llm)
    return LLMOverride(llm) if is_replaced(llm, "agenerate") else None


class LLMOverride:
    """Asks an llm object whose ``agenerate`` is not Mesa-LLM's."""

    def __init__(self, llm: Any) -> None:
        self.llm = llm

    async def acomplete(self, request: LLMRequest) -> Reply:
        """The answer of ``agenerate``."""
        with _typed_faults(request):
            prompt = self.prompt(request)
            return _reply(await self.llm.agenerate(*prompt, **_options(request)))

    def prompt(self, request: LLMRequest) -> tuple[str]:
        """The prompt of a call; the system text is set as an attribute."""
        self.llm.system_prompt = request.system
        texts = [message["content"] for message in request.messages()[1:]]
        return ("\n\n".join(texts),)


class GenerateOverride(LLMOverride):
    """Asks an llm object whose ``generate`` is not Mesa-LLM's."""

    def complete(self, request: LLMRequest) -> Reply:
        """The answer of ``generate``."""
        with _typed_faults(request):
            prompt = self.prompt(request)
            return _reply(self.llm.generate(*prompt, **_options(request)))

    async def acomplete(self, request: LLMRequest) -> Reply:
        """The answer of ``agenerate`` if it was replaced, too; else from a thread."""
        coroutine = inspect.iscoroutinefunction(self.llm.agenerate)
        if coroutine and is_replaced(self.llm, "agenerate"):
            return await super().acomplete(request)
        return await asyncio.to_thread(self.complete, request)


class AgentOverride:
    """Asks what a user has put in the place of an agent's llm, as the agent asked it.

    Args:
        llm: an object with ``generate`` or ``agenerate``.
        args, given: the arguments of the agent's call.
    """

    def __init__(self, llm: Any, args: tuple, given: Mapping[str, Any]) -> None:
        self.llm, self._args, self._given = llm, args, given

    def complete(self, request: LLMRequest) -> Reply:
        """The answer of ``generate``; errors are those of the user's code."""
        return _agents_reply(self.llm.generate(*self._args, **self._given))

    async def acomplete(self, request: LLMRequest) -> Reply:
        """The answer of ``agenerate``."""
        return _agents_reply(await self.llm.agenerate(*self._args, **self._given))

    def price(self, model: str | None) -> Price | None:
        """The price of the model's tokens; None if unknown."""
        return price(model) if model else None


@contextmanager
def _typed_faults(request: LLMRequest) -> Iterator[None]:
    """A provider's error as ours, so that an outage is not the end here either."""
    try:
        yield
    except Exception as error:
        if not from_provider(error):
            raise
        model = request.model or "of memory.llm"
        ours = typed(error, model, request, 1, math.inf)
        raise ours from redaction.cause(error)


def _options(request: LLMRequest) -> dict[str, Any]:
    """As Mesa-LLM calls it: summaries are plain text, all else has a schema."""
    schema = sent_schema(request.schema)
    is_text = schema is None or issubclass(schema, Summary)
    return {} if is_text else {"response_format": schema}


def _reply(response: Any) -> Reply:
    choice = response.choices[0]
    content = choice.message.content
    return Reply(
        text=content if content is None else str(content),
        finish=end_of(finish_reason(choice)),
        raw=response,
    )


def _agents_reply(response: Any) -> Reply:
    """The reply in a response of any kind, which the agent gets as it is."""
    try:
        reply = _reply(response)
    except (AttributeError, IndexError, TypeError):
        return Reply(response if isinstance(response, str) else None, raw=response)
    counts = TokenCounts.of(getattr(response, "usage", None))
    return replace(
        reply,
        model=_text(getattr(response, "model", "")),
        prompt_tokens=counts.prompt,
        completion_tokens=counts.completion,
        cached_tokens=counts.cached,
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
