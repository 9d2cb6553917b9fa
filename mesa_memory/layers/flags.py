"""Marks that a thread or task puts on an object for a while, and the layout of reads."""

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

_NONE: Mapping[int, Any] = MappingProxyType({})


class Mark:
    """A value that a thread or task puts on an object for a while; no other sees it."""

    def __init__(self, name: str) -> None:
        self._marks: ContextVar[Mapping[int, Any]] = ContextVar(name)

    def of(self, memory: Any) -> Any:
        """The value here and now; None if there is none."""
        return self._marks.get(_NONE).get(id(memory))

    def on(self, memory: Any, value: Any = True) -> "Marked":
        """Puts a value on the object meanwhile."""
        return Marked(self, memory, value)

    def put(self, memory: Any, value: Any) -> None:
        """Puts a value on the object; None takes it away."""
        marks = {**self._marks.get(_NONE), id(memory): value}
        if value is None:
            del marks[id(memory)]
        self._marks.set(marks)


class Marked:
    """Puts a value on an object meanwhile.

    A class: a generator would take thrice as long.
    """

    __slots__ = ("_before", "_mark", "_memory", "_value")

    def __init__(self, mark: Mark, memory: Any, value: Any) -> None:
        self._mark, self._memory, self._value = mark, memory, value

    def __enter__(self) -> None:
        self._before = self._mark.of(self._memory)
        self._mark.put(self._memory, self._value)

    def __exit__(self, *_: object) -> None:
        self._mark.put(self._memory, self._before)


#: the batch of steps that is being settled; on a memory's context
SETTLING = Mark("settling")
#: a read that is part of another one; on a memory
SHOWING = Mark("showing")
#: the text of a query and its embedding, which were awaited; on a recollection
EMBEDDED = Mark("embedded")
#: reads that leave no trace; on a memory's context
UNNOTICED = Mark("unnoticed")
#: reads for a request that is laid out for providers' caches; on a memory's context
LAID_OUT = Mark("laid out")


@dataclass
class Layout:
    """How a memory shows itself in requests whose beginning providers cache.

    Attributes:
        block: how many steps leave the recent steps at a time.
        texts: what was read, by section; see ``reading.SHOWN``.
    """

    block: int
    texts: dict[str, str] = field(default_factory=dict)
