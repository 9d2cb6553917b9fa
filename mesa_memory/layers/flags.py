"""Values that a thread or task sets on an object, and the layout of reads."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
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


#: the batch of steps that is being settled; on a memory's context
SETTLING = ContextFlag("settling")
#: a read that is part of another one; on a memory
SHOWING = ContextFlag("showing")
#: the text of a query and its embedding, which were awaited; on a recollection
EMBEDDED = ContextFlag("embedded")
#: reads that leave no trace; on a memory's context
UNNOTICED = ContextFlag("unnoticed")
#: reads for a request that is laid out for providers' caches; on a memory's context
LAID_OUT = ContextFlag("laid out")


@dataclass
class Layout:
    """The layout of a memory in requests with a cached prefix.

    Attributes:
        block: how many steps leave the recent steps at a time.
        texts: what was read, by section; see ``reading.SHOWN``.
    """

    block: int
    texts: dict[str, str] = field(default_factory=dict)
