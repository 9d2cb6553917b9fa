"""Any provider through litellm."""

from collections.abc import Mapping
from typing import Any

import litellm
import openai.resources  # noqa: F401 - a second that the first request would take

from mesa_memory.core.content import plain
from mesa_memory.core.requests import Reply, TokenCounts, tier_of
from mesa_memory.core.text import replies
from mesa_memory.hosts import litellm as host
from mesa_memory.hosts.provider_faults import calling
from mesa_memory.llm import prices as pricing
from mesa_memory.llm.base import Attempt
from mesa_memory.llm.errors import NoAnswer
from mesa_memory.llm.schemas import response_format


class LiteLLMSender:
    """Sends attempts with litellm."""

    name = "litellm"

    async def send(self, attempt: Attempt) -> Reply:
        """See ``Sender``."""
        sent = {
            "model": attempt.model,
            "messages": plain(attempt.request.messages()),  # as UTF-8
            "timeout": attempt.timeout,
            "max_retries": 0,
            "num_retries": 0,
            "api_base": attempt.api_base,
            **attempt.arguments,
            **attempt.options,
        }
        with calling():
            response = await litellm.acompletion(**_finished(sent))
        if not response.choices:
            raise NoAnswer("the reply has no choices")
        return _reply(response, attempt)


def _finished(sent: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments without None, and without classes that litellm would walk through."""
    given = {key: value for key, value in sent.items() if value is not None}
    if form := given.get("response_format"):
        given["response_format"] = response_format(form)
    return given


def _reply(response: Any, attempt: Attempt) -> Reply:
    counts, model = TokenCounts.of(getattr(response, "usage", None)), attempt.model
    tier = tier_of(response)
    choice = response.choices[0]
    text, calls = choice.message.content, getattr(choice.message, "tool_calls", None)
    if attempt.by_tool and calls:
        text = calls[0].function.arguments or text
    # litellm says 0 for what it does not know. No prompt is empty, but a reply may be.
    completion = counts.completion if counts.prompt else counts.completion or None
    return Reply(
        text=text,
        model=model,
        prompt_tokens=counts.prompt or None,
        completion_tokens=completion,
        cost=pricing.litellm_cost(response, model, counts, tier),
        finish=replies.end_of(host.finish_reason(choice)),
        raw=response,
        answered=getattr(response, "model", None) or "",
        response_id=getattr(response, "id", None) or "",
        cached_tokens=counts.cached,
        tier=tier,
    )
