"""litellm: its HTTP clients, its providers and their addresses, prices of responses."""

import logging
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, wraps
from typing import Any

from mesa_memory.errors import HostChanged
from mesa_memory.hosts import changed
from mesa_memory.hosts.http_limits import limit_client

#: (place in litellm, class, method that makes a client)
_MAKERS = (
    ("llms.custom_httpx.http_handler", "AsyncHTTPHandler", "create_client"),
    ("llms.custom_httpx.http_handler", "HTTPHandler", "create_client"),
    ("llms.openai.common_utils", "BaseOpenAILLM", "_get_async_http_client"),
    ("llms.openai.common_utils", "BaseOpenAILLM", "_get_sync_http_client"),
)
#: what a user's code may have set in litellm, so that requests must go through it
_HOOKS = (
    *("callbacks", "input_callback", "success_callback", "failure_callback"),
    *("service_callback", "_async_input_callback", "_async_success_callback"),
    *("_async_failure_callback", "pre_call_rules", "post_call_rules", "cache"),
    *("client_session", "aclient_session", "model_alias_map", "headers", "proxy_auth"),
    *("use_litellm_proxy", "network_mock", "fallbacks", "model_fallbacks"),
    *("max_budget", "secret_manager_client", "force_ipv4", "modify_params"),
    *("ssl_certificate", "route_all_chat_openai_to_responses"),
)
#: provider -> variables of its address, of its key, and its usual address
_PLACES = {
    "openai": (
        ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
        ("OPENAI_API_KEY",),
        "https://api.openai.com/v1",
    ),
    "openrouter": (
        ("OPENROUTER_API_BASE",),
        ("OPENROUTER_API_KEY", "OR_API_KEY"),
        "https://openrouter.ai/api/v1",
    ),
    "ollama": (("OLLAMA_API_BASE",), ("OLLAMA_API_KEY",), "http://localhost:11434"),
}
_SAME = {"custom_openai": "openai", "ollama_chat": "ollama"}


@dataclass(frozen=True)
class Address:
    """The address to which litellm sends the requests for a model.

    Attributes:
        provider: its name.
        model: the name that the server knows.
        base: address; None if none is known.
        key: None if none is known.
    """

    provider: str
    model: str
    base: str | None
    key: str | None = field(repr=False)


def address_of(model: str, api_base: str | None, api_key: str | None) -> Address:
    """The address, bare name and key of a model, as litellm finds them.

    Raises:
        Exception: litellm's own, if it does not know such a name.
    """
    import litellm

    name, provider, key, base = litellm.get_llm_provider(
        model, api_base=api_base, api_key=api_key
    )
    known = _SAME.get(provider, provider)
    bases, keys, usual = _PLACES.get(known, ((), (), None))
    key = api_key or key or litellm.api_key or vars(litellm).get(f"{known}_key")
    if known == "ollama":
        base = litellm.api_base or api_base
    return Address(
        provider,
        name,
        base or litellm.api_base or _variable(bases) or usual,
        key or _variable(keys),
    )


def _variable(names: tuple[str, ...]) -> str | None:
    found = (os.environ.get(name) for name in names)
    return next((value for value in found if value), None)


def speaks_openai(provider: str) -> bool:
    """True if litellm says that the provider's servers speak the OpenAI protocol."""
    import litellm

    return provider in litellm.openai_compatible_providers


def hooks() -> list[str]:
    """The hooks that a user's code has set in litellm, which direct requests bypass."""
    import litellm

    value = vars(litellm).get
    found = [n for n in _HOOKS if value(n)] if any(map(value, _HOOKS)) else []
    if litellm.acompletion is not _acompletion():
        found.append("acompletion")
    if os.environ.get("USE_LITELLM_PROXY"):
        found.append("USE_LITELLM_PROXY")
    return found


def is_custom(provider: str) -> bool:
    """True if a user's own code answers for the provider."""
    import litellm

    return any(item["provider"] == provider for item in litellm.custom_provider_map)


def no_key(provider: str, model: str) -> Exception:
    """Litellm's error for a provider without a key."""
    import litellm

    return litellm.AuthenticationError(
        f"no API key is known for {provider}: set its variable in the environment, or "
        "give options={'api_key': …}",
        provider,
        model,
    )


def not_sendable(said: str, provider: str, model: str) -> Exception:
    """Litellm's error for a request that cannot be sent as it is."""
    import litellm

    return litellm.BadRequestError(said, model, provider)


def tls() -> Any:
    """The TLS context that litellm uses; False checks no certificate."""
    from litellm.llms.custom_httpx.http_handler import get_ssl_configuration

    return get_ssl_configuration()


def finish_reason(choice: Any) -> Any:
    """The provider's own word for the end of a choice, as far as litellm kept it."""
    kept = getattr(choice, "provider_specific_fields", None)
    native = kept.get("native_finish_reason") if isinstance(kept, dict) else None
    return native or getattr(choice, "finish_reason", None)


def response_of(answer: dict[str, Any], model: str) -> Any:
    """A server's answer as the object that ``litellm.completion`` gives."""
    import litellm

    try:
        convert = litellm.utils.convert_to_model_response_object
    except AttributeError:
        raise _changed("utils.convert_to_model_response_object") from None
    response = litellm.ModelResponse(model=model, usage=litellm.Usage())
    counted = {name: value for name, value in answer.items() if value is not None}
    return convert(response_object=counted, model_response_object=response)


@cache
def _acompletion() -> Any:
    """The function of litellm's own, in whose place a user's code may put another."""
    import litellm

    return litellm.acompletion


def be_quiet() -> None:
    """Keeps litellm from printing advice of its own, and looks at how it is now."""
    import litellm

    litellm.suppress_debug_info = True
    _acompletion()
    for name in ("LiteLLM", "asyncio"):
        logging.getLogger(name).addFilter(_matters)


def _matters(record: logging.LogRecord) -> bool:
    """False for messages about litellm's worker for logs, unless something is logged.

    The process has one worker. It moves to each event loop that uses litellm, such as the
    user's and the one in the background, and leaves its tasks behind.
    """
    said = record.getMessage()
    of_worker = "LoggingWorker" in said or "Logging.async_" in said
    return not of_worker or bool(hooks())


@cache
def limit_clients() -> None:
    """Limits the HTTP clients that litellm makes from now on; see ``http_limits``.

    litellm hands over a client of one's own for some providers only, so the methods that
    make its clients are wrapped.

    Raises:
        HostChanged: if litellm makes its clients in another way.
    """
    for owner, name in _makers():
        made = vars(owner)[name]
        make = _limited(getattr(owner, name))
        setattr(
            owner, name, staticmethod(make) if isinstance(made, staticmethod) else make
        )


def response_cost(response: Any) -> float | None:
    """US dollars as litellm computed them; None or 0 if it does not know a price."""
    return getattr(response, "_hidden_params", {}).get("response_cost")


def add_provider(name: str, handler: Any, own_errors: type) -> None:
    """Adds a provider of one's own; again does nothing.

    Args:
        name: as in ``name/model``.
        handler: gives the ``CustomLLM`` that answers; called once.
        own_errors: litellm hands errors on that are instances of it, as they are.

    Raises:
        HostChanged: if litellm takes no providers any more.
    """
    import litellm

    for needed in ("custom_provider_map", "LITELLM_EXCEPTION_TYPES"):
        if not hasattr(litellm, needed):
            raise _changed(needed)
    be_quiet()  # some versions print advice about names that are none of theirs
    if all(item["provider"] != name for item in litellm.custom_provider_map):
        entry: Any = {"provider": name, "custom_handler": handler()}
        litellm.custom_provider_map.append(entry)
        # Any other error litellm would call a failed connection, and Mesa-LLM would ask
        # again without end.
        handed_on: Any = [*litellm.LITELLM_EXCEPTION_TYPES, own_errors]
        litellm.LITELLM_EXCEPTION_TYPES = handed_on


def _makers() -> Iterator[tuple[Any, str]]:
    import litellm.llms.custom_httpx.http_handler
    import litellm.llms.openai.common_utils  # noqa: F401 - both are looked up below

    for place, kind, name in _MAKERS:
        owner = getattr(sys.modules[f"litellm.{place}"], kind, None)
        if not hasattr(owner, name):
            raise _changed(f"{kind}.{name}")
        yield owner, name


def _changed(name: str) -> HostChanged:
    advice = "Use a supported version: pip install 'litellm>=1.98'."
    return changed("litellm", f"it has no {name}", advice)


def _limited(make: Any) -> Any:
    """Makes clients as ``make`` does, with limits."""

    @wraps(make)
    def making(*args: Any, **given: Any) -> Any:
        client = make(*args, **given)
        if client is not None:
            limit_client(client)
        return client

    return making
