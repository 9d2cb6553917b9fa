"""Hints to providers to cache the beginning of a prompt.

OpenAI, DeepSeek, Gemini and servers such as vLLM cache by themselves what begins as an
earlier prompt did. OpenAI finds it more often with a key that is the same for prompts
that begin alike; Anthropic caches up to marks in the prompt, at most four.
"""

import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from mesa_memory.core.requests import LLMRequest

_MARK = {"type": "ephemeral"}
#: OpenAI's own servers
OPENAI_HOSTS = ("api.openai.com", "us.api.openai.com", "eu.api.openai.com")
#: number of cuts before a mark at which Anthropic looks for a cached beginning
MAX_CUTS = 20


def cache_key(request: LLMRequest) -> str:
    """The same for all of an agent's requests of a purpose, in every process.

    A hash, so that the agent's name is not sent.
    """
    text = f"{request.purpose} {type(request.agent).__name__} {request.agent}"
    return f"mesa-memory-{hashlib.blake2b(text.encode(), digest_size=8).hexdigest()}"


def takes_key(model: str, api_base: str | None) -> bool:
    """True for OpenAI itself; a server that only speaks as it does may refuse the key."""
    host = _host(api_base or "")
    own = host is None or host in OPENAI_HOSTS
    return own and model.partition("/")[0] == "openai"


@lru_cache
def _host(address: str) -> str | None:
    return urlsplit(address).hostname


def key_for(model: str, api_base: str | None, request: LLMRequest) -> dict[str, str]:
    """The argument that OpenAI gets; empty for anybody else."""
    return (
        {"prompt_cache_key": cache_key(request)} if takes_key(model, api_base) else {}
    )


def messages_for(model: str, request: LLMRequest) -> list[dict[str, Any]]:
    """A request's messages as they are sent to a model."""
    messages = request.messages()
    return marked(messages, request.edges) if takes_marks(model) else messages


@lru_cache
def takes_marks(model: str) -> bool:
    """True for Anthropic's models, with any provider."""
    return "claude" in model.lower() or model.partition("/")[0] == "anthropic"


def marked(
    messages: Sequence[Mapping[str, Any]], edges: Sequence[tuple[int, int]]
) -> list[dict[str, Any]]:
    """Messages that are cut at edges, with Anthropic's mark at the first and the last.

    Args:
        edges: see ``LLMRequest.edges``; of very many only the newest cut the text.
    """
    marks = {edges[0], edges[-1]} if edges else set()
    cuts: dict[int, list[int]] = {}
    for number, place in dict.fromkeys([*edges[:1], *edges[-MAX_CUTS:]]):
        cuts.setdefault(number, []).append(place)
    found = []
    for number, message in enumerate(messages):
        text = message.get("content")
        places = sorted(p for p in cuts.get(number, ()) if 0 < p <= len(text or ""))
        if not isinstance(text, str) or not places:
            found.append(dict(message))
            continue
        parts: list[dict[str, Any]] = []
        for begin, end in zip([0, *places], [*places, len(text)], strict=True):
            if not text[begin:end].strip():  # a part may not be empty
                continue
            part: dict[str, Any] = {"type": "text", "text": text[begin:end]}
            if (number, end) in marks and end in places:
                part["cache_control"] = dict(_MARK)
            parts.append(part)
        found.append({**message, "content": parts} if parts else dict(message))
    return found
