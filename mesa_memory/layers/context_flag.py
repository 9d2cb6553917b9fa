"""Values that a thread or task sets on an object for a while."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

_NONE: Mapping[int, Any] = MappingProxyType({})


class ContextFlag:
    """A value that a thread or task sets on an object for a while; no other sees it."""

    def __init__(self, name: str) -> None:
        self._values: ContextVar[Mapping[int, Any]] = ContextVar(name)

    def of(self, thing: Any) -> Any:
        """The value here and now; None if it is not set."""
        return self._values.get(_NONE).get(id(thing))

    def put(self, thing: Any, value: Any) -> None:
        """Sets the value on an object; None takes it away."""
        values = {**self._values.get(_NONE), id(thing): value}
        if value is None:
            del values[id(thing)]
        self._values.set(values)

    @contextmanager
    def on(self, thing: Any, value: Any = True) -> Iterator[None]:
        """Sets the value on an object meanwhile."""
        before = self.of(thing)
        self.put(thing, value)
        try:
            yield
        finally:
            self.put(thing, before)
