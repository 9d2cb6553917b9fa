"""Overrides the client of every model that is made within a block of code."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_client: ContextVar[Any] = ContextVar("client override", default=None)


@contextmanager
def override_client(client: Any) -> Iterator[None]:
    """Meanwhile ``client`` answers all requests of new services.

    Args:
        client: like ``ReplayLLM``; it replaces every configured client.
    """
    token = _client.set(client)
    try:
        yield
    finally:
        _client.reset(token)


def overriding_client() -> Any:
    """The client that answers for new services; None without an override."""
    return _client.get()
