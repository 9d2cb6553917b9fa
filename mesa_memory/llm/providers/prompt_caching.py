"""A hint to OpenAI, which caches the beginning of a prompt.

OpenAI finds a cached beginning more often with a key that is the same for prompts that
begin alike.
"""

import hashlib
from functools import lru_cache
from urllib.parse import urlsplit

from mesa_memory.core.requests import LLMRequest

#: OpenAI's own servers
OPENAI_HOSTS = ("api.openai.com", "us.api.openai.com", "eu.api.openai.com")


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
