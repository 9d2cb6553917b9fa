"""litellm: its HTTP clients, its providers, and what a response cost."""

import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

from mesa_memory.errors import HostChanged
from mesa_memory.hosts import wire
from mesa_memory.hosts.changed import changed

#: (place in litellm, class, method that makes a client)
_MAKERS = (
    ("llms.custom_httpx.http_handler", "AsyncHTTPHandler", "create_client"),
    ("llms.custom_httpx.http_handler", "HTTPHandler", "create_client"),
    ("llms.openai.common_utils", "BaseOpenAILLM", "_get_async_http_client"),
    ("llms.openai.common_utils", "BaseOpenAILLM", "_get_sync_http_client"),
)


def guard_clients() -> None:
    """Guards the HTTP clients that litellm makes from now on; again does nothing.

    Raises:
        HostChanged: if litellm makes its clients in another way.
    """
    for owner, name in _makers():
        make = getattr(owner, name)
        if not isinstance(make, _Making):
            static = isinstance(vars(owner)[name], staticmethod)
            setattr(owner, name, _Making(make, static))


def response_cost(response: Any) -> float | None:
    """US dollars as litellm worked them out; None or 0 where it knows no price."""
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
    advice = "Use one that is known: pip install 'litellm>=1.98'."
    return changed("litellm", f"it has no {name}", advice)


class _Making:
    """Makes clients as ``make`` does, and guards them."""

    def __init__(self, make: Any, static: bool) -> None:
        self._make, self._static = make, static

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        return self if self._static or owner is None else partial(self, owner)

    def __call__(self, *args: Any, **given: Any) -> Any:
        client = self._make(*args, **given)
        return client if client is None else wire.guard(client)
