"""A server's answer in the OpenAI protocol, read as data."""

import json
import re
from collections.abc import Mapping
from typing import Any

import orjson

from mesa_memory.core.reply import Reply, TokenCounts, tier_of
from mesa_memory.core.requests import ChatRequest
from mesa_memory.core.text import replies
from mesa_memory.hosts import litellm as host
from mesa_memory.hosts.provider_faults import StateError
from mesa_memory.llm.base import Attempt
from mesa_memory.llm.cost import pricing
from mesa_memory.llm.providers.errors import NoAnswer

#: what some servers put in front of an answer; litellm takes it off, too
_THOUGHT = re.compile(
    r"<(?:think|thinking|budget:thinking)>.*?</(?:think|thinking|budget:thinking)>(.*)",
    re.DOTALL,
)


def answer_of(body: bytes) -> dict[str, Any]:
    """The answer in a body, a dict whose ``choices`` has one with a message at least.

    Raises:
        NoAnswer: if such a choice is missing.
        StateError: if the server says that something went wrong, after all.
    """
    try:
        answer = orjson.loads(body)
    except ValueError:
        try:  # half of a pair of \u escapes, or NaN
            answer = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise NoAnswer(
                "the reply is not valid JSON; expected a chat completion"
            ) from error
    if not isinstance(answer, dict):
        raise NoAnswer("the reply is not a JSON object; expected a chat completion")
    if fault := answer.get("error"):
        code = fault.get("code") if isinstance(fault, dict) else None
        raise StateError(code if isinstance(code, int) else 422, answer)
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices:
        raise NoAnswer("the reply has no choices")
    first = choices[0]
    if not isinstance(first, dict) or not isinstance(first.get("message"), dict):
        raise NoAnswer("the reply has no message")
    return answer


def reply_of(answer: dict[str, Any], attempt: Attempt, model: str) -> Reply:
    """The reply in an answer.

    Args:
        model: the name that the server knows.

    Raises:
        NoAnswer: if wrapped reasoning cannot use it.
    """
    choice, counts = answer["choices"][0], TokenCounts.of(answer.get("usage"))
    tier, raw = tier_of(answer), None
    if isinstance(attempt.request, ChatRequest):
        raw = _response(answer, model)
        text, finish = raw.choices[0].message.content, choice.get("finish_reason")
    else:
        text = _text(choice["message"])
        if attempt.by_tool:
            text = _called_with(choice["message"]) or text
        finish = choice.get("finish_reason")
    return Reply(
        text=text,
        model=attempt.model,
        prompt_tokens=counts.prompt,
        completion_tokens=counts.completion,
        cost=pricing.cost(attempt.model, counts, tier),
        finish=replies.end_of(finish),
        raw=raw,
        answered=_word(answer.get("model")),
        response_id=_word(answer.get("id")),
        cached_tokens=counts.cached,
        tier=tier,
    )


def _response(answer: dict[str, Any], model: str) -> Any:
    """The answer as wrapped reasoning expects it.

    Raises:
        NoAnswer: if that cannot be made of it.
    """
    for choice in answer["choices"]:
        if isinstance(choice, dict) and isinstance(choice.get("message"), dict):
            choice["message"].setdefault("role", "assistant")
    try:
        return host.response_of(answer, model)
    except Exception as error:  # whatever litellm makes of an odd answer
        raise NoAnswer(f"unexpected reply format: {error}") from error


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _text(message: Mapping[str, Any]) -> str | None:
    """The content of a message, without the thinking that comes before it."""
    content = message.get("content")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    if not isinstance(content, str):
        return None
    thought = _THOUGHT.match(content)
    return thought[1] if thought else content


def _called_with(message: Mapping[str, Any]) -> str | None:
    """The arguments of the first tool that a message calls."""
    calls = message.get("tool_calls")
    first = calls[0] if isinstance(calls, list) and calls else None
    function = first.get("function") if isinstance(first, dict) else None
    said = function.get("arguments") if isinstance(function, dict) else None
    return json.dumps(said) if isinstance(said, dict) else said
