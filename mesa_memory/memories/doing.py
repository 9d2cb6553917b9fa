"""What one thread, or one task of an event loop, is doing with a memory."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from types import MappingProxyType
from typing import Any

_NONE: Mapping[int, Any] = MappingProxyType({})


class Mark:
    """A value that a thread or task puts on a memory for a while; no other sees it."""

    def __init__(self, name: str) -> None:
        self._marks: ContextVar[Mapping[int, Any]] = ContextVar(name)

    def of(self, memory: Any) -> Any:
        """The value here and now; None if there is none."""
        return self._marks.get(_NONE).get(id(memory))

    @contextmanager
    def on(self, memory: Any, value: Any = True) -> Iterator[None]:
        """Puts a value on the memory meanwhile."""
        before = self.of(memory)
        self._put(memory, value)
        try:
            yield
        finally:
            self._put(memory, before)

    def _put(self, memory: Any, value: Any) -> None:
        others = {k: v for k, v in self._marks.get(_NONE).items() if k != id(memory)}
        self._marks.set(others if value is None else {**others, id(memory): value})


#: the batch of steps that is being settled
SETTLING = Mark("settling")
#: a read that is part of another one
SHOWING = Mark("showing")
#: the text of a query and its embedding, which were awaited before the read
EMBEDDED = Mark("embedded")
#: reads that leave no trace
UNNOTICED = Mark("unnoticed")

#: what a memory is read by, whole with respect to other threads
_WHOLE = (
    "get_prompt_ready", "format_long_term", "format_short_term",
    "get_communication_history", "messages", "recall", "retrieve_top_k_entries",
    "memory_entries", "short_term_memory", "long_term_memory", "impressions",
    "revisions", "current_records",
)  # fmt: skip


def make_whole(cls: type) -> None:
    """Lets no other thread change a memory while one of these methods looks at it."""
    for name in _WHOLE:
        found = vars(cls).get(name)
        if isinstance(found, property):
            get = found.fget and whole(found.fget)
            setattr(cls, name, property(get, found.fset, found.fdel, found.__doc__))
        elif callable(found):
            setattr(cls, name, whole(found))


def whole(read: Callable) -> Callable:
    """A read that first waits for unfinished work, and then is alone with the memory."""

    @wraps(read)
    def reading(self: Any, *args: Any, **given: Any) -> Any:
        self._settled()
        with self._alone():
            return read(self, *args, **given)

    return reading
