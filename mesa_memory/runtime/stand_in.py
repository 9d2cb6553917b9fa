"""Something that answers in place of every model, for the models that are made meanwhile."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_client: ContextVar[Any] = ContextVar("stand-in", default=None)


@contextmanager
def stand_in(client: Any) -> Iterator[None]:
    """Meanwhile new services are answered by a client, whatever else is configured.

    Args:
        client: like ``llm.replay.ReplayLLM``.
    """
    token = _client.set(client)
    try:
        yield
    finally:
        _client.reset(token)


def current() -> Any:
    """What answers new services; None if it is the model."""
    return _client.get()
