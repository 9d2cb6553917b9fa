"""The language model of the coming version: a request may be made but once."""

from contextlib import contextmanager
from contextvars import ContextVar

import litellm

_ONCE = ContextVar("once", default=False)


class ModuleLLM:
    def __init__(
        self,
        llm_model,
        api_base=None,
        system_prompt=None,
        max_retries=5,
        fallback_model=None,
    ):
        self.llm_model, self.api_base = llm_model, api_base
        self.system_prompt, self.max_retries = system_prompt, max_retries
        self.fallback_model = fallback_model

    @contextmanager
    def _one_shot_completion(self):
        token = _ONCE.set(True)
        try:
            yield
        finally:
            _ONCE.reset(token)

    def _build_messages(self, prompt=None, system_prompt=None):
        system = self.system_prompt if system_prompt is None else system_prompt
        texts = [prompt] if isinstance(prompt, str) else list(prompt or [])
        users = [{"role": "user", "content": text} for text in texts]
        return [{"role": "system", "content": system or ""}, *users]

    def _arguments(self, prompt, tools, choice, form, system, quiet):
        given = {"tools": tools or None, "tool_choice": choice if tools else None}
        given |= {"response_format": form, "api_base": self.api_base}
        if quiet and self.llm_model.startswith("ollama"):
            given |= {"think": False, "drop_params": True}
        messages = self._build_messages(prompt, system)
        return {"model": self.llm_model, "messages": messages, **given}

    def generate(
        self,
        prompt=None,
        tool_schema=None,
        tool_choice="auto",
        response_format=None,
        system_prompt=None,
        suppress_thinking=False,
    ):
        given = (prompt, tool_schema, tool_choice, response_format, system_prompt)
        return litellm.completion(**self._arguments(*given, suppress_thinking))

    async def agenerate(
        self,
        prompt=None,
        tool_schema=None,
        tool_choice="auto",
        response_format=None,
        system_prompt=None,
        suppress_thinking=False,
    ):
        given = (prompt, tool_schema, tool_choice, response_format, system_prompt)
        return await litellm.acompletion(**self._arguments(*given, suppress_thinking))
