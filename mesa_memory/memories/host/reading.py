"""Reads of a memory: one thread at a time, and known to the recorder."""

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any

from mesa_memory.layers.context import LAID_OUT, SHOWING, UNNOTICED

#: what an agent is shown, by the method that it asks
SHOWN_SECTIONS = {
    "get_prompt_ready": "memory",
    "format_long_term": "long term",
    "format_short_term": "short term",
    "get_communication_history": "messages",
}
#: reads that wait for other threads
_SYNCHRONIZED = (
    *SHOWN_SECTIONS, "messages", "recall", "explain", "retrieve_top_k_entries",
    "memory_entries", "short_term_memory", "long_term_memory", "impressions",
    "revisions", "current_records", "facts", "conflicts", "fact_history", "conversations",
    "chapters",
)  # fmt: skip


class MemoryLock:
    """Held, no other thread changes the memory, and its work is not awaited.

    Args:
        lock: the memory's, reentrant.

    Attributes:
        thread: the holder; None if the lock is free.
    """

    __slots__ = ("_depth", "_lock", "thread")

    def __init__(self, lock: Any) -> None:
        self._lock, self._depth = lock, 0
        self.thread: int | None = None

    @property
    def here(self) -> bool:
        """True in the thread that holds the lock."""
        return self.thread == threading.get_ident()

    def __enter__(self) -> None:
        """Waits for other threads; the holder may take it again."""
        self._lock.acquire()
        self._depth += 1
        self.thread = threading.get_ident()

    def __exit__(self, *_: object) -> None:
        """Releases the lock."""
        self._depth -= 1
        if not self._depth:
            self.thread = None
        self._lock.release()


def prepare_reads(cls: type) -> None:
    """Lets the reads of a class of memory wait for other threads and tell the recorder."""
    for name in _SYNCHRONIZED:
        found = vars(cls).get(name)
        if isinstance(found, property):
            get = found.fget and synchronized(found.fget)
            setattr(cls, name, property(get, found.fset, found.fdel, found.__doc__))
        elif callable(found):
            read = synchronized(found)
            section = SHOWN_SECTIONS.get(name)
            setattr(cls, name, recorded(read, section) if section else read)


def synchronized(read: Callable[..., Any]) -> Callable[..., Any]:
    """A read that first waits for unfinished work, and then is alone with the memory."""

    @wraps(read)
    def reading(self: Any, *args: Any, **given: Any) -> Any:
        self.settle()
        with self.exclusive():
            return read(self, *args, **given)

    return reading


def recorded(read: Callable[[Any], str], section: str) -> Callable[[Any], str]:
    """A read that tells the recorder its text, unless it is part of another one."""

    @wraps(read)
    def reading(self: Any) -> str:
        if SHOWING.of(self):
            return _note_text(self, section, read(self))
        with SHOWING.on(self):
            text = _note_text(self, section, read(self))
        recorder, context = self.services.recorder, self.layer_context
        if recorder and not UNNOTICED.of(context):
            used, context.budget_used = context.budget_used, None
            recorder.shown(context.whose(), section, text, used)
        return text

    return reading


def _note_text(memory: Any, section: str, text: str) -> str:
    """A text that was read; the layout of a request is told of it."""
    if (layout := LAID_OUT.of(memory.layer_context)) is not None:
        layout.texts[section] = text
    return text


class Delegate:
    """An attribute of a memory that is an attribute of one of its parts.

    Args:
        part: the memory's attribute that holds the part.
        doc: its docstring.
        name: of the part's attribute, by default the same name.
        setter: the part's method that is called with what the user sets. Such an
            attribute is read and set like the reads above, with other threads waiting.
    """

    def __init__(self, part: str, doc: str, name: str = "", setter: str = "") -> None:
        self._part, self._name, self._setter = part, name, setter
        self.__doc__ = doc
        self._read = synchronized(self._of_part) if setter else self._of_part

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = self._name or name

    def _of_part(self, memory: Any) -> Any:
        return getattr(vars(memory)[self._part], self._name)

    def __get__(self, memory: Any, owner: type | None = None) -> Any:
        return self if memory is None else self._read(memory)

    def __set__(self, memory: Any, value: Any) -> None:
        if not self._setter:
            setattr(vars(memory)[self._part], self._name, value)
            return
        if hasattr(memory, "agent"):  # else its constructor was not called
            memory.settle()
        with memory.exclusive():
            getattr(vars(memory)[self._part], self._setter)(value)


#: the entries of a window, which Mesa-LLM's users read and replace
SHORT_TERM = Delegate(
    "_window",
    "The entries kept, oldest first; may be changed or replaced.",
    "held",
    "replace",
)
#: a running summary's text
LONG_TERM = Delegate(
    "_summary",
    "The summary; setting it closes the old one and opens a new one.",
    "text",
    "set_by_hand",
)
