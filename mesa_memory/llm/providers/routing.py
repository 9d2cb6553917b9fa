"""Chooses the route of a request: directly to the server, or through litellm.

The direct way is for servers that speak the OpenAI protocol. litellm is the way for every
other provider, for options that only litellm understands, and where a user's code has
set something in litellm that it expects to be called.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from mesa_memory.hosts import litellm as host
from mesa_memory.hosts.proxies import proxy_of

#: providers whose servers speak the OpenAI protocol at any address
OPENAI_PROVIDERS = frozenset(
    {"openai", "custom_openai", "hosted_vllm", "ollama", "ollama_chat", "lm_studio"}
    | {"deepseek", "groq", "openrouter"}
)
#: options that the protocol knows
PROTOCOL_OPTIONS = frozenset(
    {"frequency_penalty", "presence_penalty", "logit_bias", "logprobs", "top_logprobs"}
    | {"max_tokens", "max_completion_tokens", "temperature", "top_p", "seed", "stop"}
    | {"tools", "tool_choice", "parallel_tool_calls", "response_format", "prediction"}
    | {"reasoning_effort", "verbosity", "service_tier", "store", "metadata", "user"}
    | {"prompt_cache_key", "prompt_cache_retention", "safety_identifier"}
)
#: options about the way itself
CLIENT_OPTIONS = frozenset(
    {"api_key", "api_base", "base_url", "timeout", "extra_headers", "headers"}
    | {"extra_body", "organization", "drop_params"}
)
#: options with which a request can go the direct way
DIRECT_OPTIONS = PROTOCOL_OPTIONS | CLIENT_OPTIONS
#: models that litellm asks in other protocols
_OTHER_PROTOCOLS = ("responses/",)


def obstacle(arguments: Mapping[str, Any]) -> str:
    """The reason why a request needs litellm; empty if it does not.

    Args:
        arguments: all that go with the messages, the user's options included.
    """
    if set_there := host.hooks():
        return f"litellm.{set_there[0]} is set"
    if DIRECT_OPTIONS.issuperset(arguments):
        return ""
    unknown = arguments.keys() - DIRECT_OPTIONS
    if unknown == {"think"} and arguments["think"] is False:
        return ""  # Mesa-LLM's word for Ollama; the protocol has one, too
    return f"only litellm knows the option {min(unknown)!r}"


def destination(
    model: str, api_base: str | None, api_key: str | None
) -> tuple[str, host.Address | None]:
    """The reason why a model needs litellm, empty if it does not; and its address.

    Args:
        model: ``"provider/model"``.
        api_base: None is the provider's usual address.
        api_key: None is the one that litellm knows.
    """
    try:
        address = host.address_of(model, api_base, api_key)
    except Exception:  # litellm's own, of any class; it says what it does not know
        return "litellm does not know the name", None
    reason = ""
    if not _speaks(address.provider, api_base):
        reason = f"{address.provider} speaks a protocol of its own"
    elif address.model.startswith(_OTHER_PROTOCOLS):
        reason = "the model is asked by the responses protocol"
    elif (proxy_of(urlsplit(address.base or "")) or "").startswith("socks"):
        reason = "a SOCKS proxy leads to it"
    return reason, address


def speaks_openai(model: str, api_base: str | None) -> bool:
    """True if the model's server speaks the OpenAI protocol, as far as its name says."""
    try:
        provider = host.address_of(model, api_base, None).provider
    except Exception:  # as above
        return False
    return _speaks(provider, api_base)


def _speaks(provider: str, api_base: str | None) -> bool:
    known = provider in OPENAI_PROVIDERS or (
        bool(api_base) and host.speaks_openai(provider)
    )
    return known and not host.is_custom(provider)
