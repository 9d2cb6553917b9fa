"""How a memory is read: whole with respect to other threads, and known to the recorder."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from mesa_memory.layers.flags import LAID_OUT, SHOWING, UNNOTICED

#: what an agent is shown, by the method that it asks
SHOWN = {
    "get_prompt_ready": "memory",
    "format_long_term": "long term",
    "format_short_term": "short term",
    "get_communication_history": "messages",
}
#: what a memory is read by, whole with respect to other threads
_WHOLE = (
    *SHOWN, "messages", "recall", "retrieve_top_k_entries",
    "memory_entries", "short_term_memory", "long_term_memory", "impressions",
    "revisions", "current_records", "facts", "conflicts", "fact_history", "conversations",
    "chapters",
)  # fmt: skip


def prepare_reads(cls: type) -> None:
    """Makes the reads of a class of memories whole, and known to the recorder."""
    for name in _WHOLE:
        found = vars(cls).get(name)
        if isinstance(found, property):
            get = found.fget and whole(found.fget)
            setattr(cls, name, property(get, found.fset, found.fdel, found.__doc__))
        elif callable(found):
            read = whole(found)
            section = SHOWN.get(name)
            setattr(cls, name, noted(read, section) if section else read)


def whole(read: Callable) -> Callable:
    """A read that first waits for unfinished work, and then is alone with the memory."""

    @wraps(read)
    def reading(self: Any, *args: Any, **given: Any) -> Any:
        self.settle()
        with self.alone():
            return read(self, *args, **given)

    return reading


def noted(read: Callable[[Any], str], section: str) -> Callable[[Any], str]:
    """A read that tells the recorder its text, unless it is part of another one."""

    @wraps(read)
    def reading(self: Any) -> str:
        if SHOWING.of(self):
            return _laid_out(self, section, read(self))
        with SHOWING.on(self):
            text = _laid_out(self, section, read(self))
        recorder, context = self.services.recorder, self.layer_context
        if recorder and not UNNOTICED.of(context):
            used, context.budget_used = context.budget_used, None
            recorder.shown(context.whose(), section, text, used)
        return text

    return reading


def _laid_out(memory: Any, section: str, text: str) -> str:
    """A text that was read; whoever lays out a request is told."""
    if (layout := LAID_OUT.of(memory.layer_context)) is not None:
        layout.texts[section] = text
    return text


class PassedOn:
    """An attribute of a memory that is one of its parts' attributes.

    Args:
        part: the memory's attribute that holds the part.
        told: its docstring.
        name: of the part's attribute, by default the same name.
    """

    def __init__(self, part: str, told: str, name: str = "") -> None:
        self._part, self._name = part, name
        self.__doc__ = told

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = self._name or name

    def __get__(self, memory: Any, owner: type | None = None) -> Any:
        return self if memory is None else getattr(vars(memory)[self._part], self._name)

    def __set__(self, memory: Any, value: Any) -> None:
        setattr(vars(memory)[self._part], self._name, value)


class PassedOnWhole(PassedOn):
    """``PassedOn``, read whole with respect to other threads, like the reads above.

    Args:
        put: the part's method that is called with what the user sets.
    """

    def __init__(self, part: str, told: str, name: str, put: str) -> None:
        super().__init__(part, told, name)
        self._put = put
        self._get = whole(super().__get__)

    def __get__(self, memory: Any, owner: type | None = None) -> Any:
        return self if memory is None else self._get(memory)

    def __set__(self, memory: Any, value: Any) -> None:
        if hasattr(memory, "agent"):  # else its constructor was not called
            memory.settle()
        with memory.alone():
            getattr(vars(memory)[self._part], self._put)(value)


#: the entries of a window, which Mesa-LLM's users read and replace
SHORT_TERM = PassedOnWhole(
    "_window",
    "The entries kept, oldest first; may be changed or replaced.",
    "held",
    "replace",
)
#: a running summary's text
LONG_TERM = PassedOnWhole(
    "_summary",
    "The summary; setting it closes the old one and opens a new one.",
    "text",
    "set_by_hand",
)
