"""Attributes of a memory that are attributes of its parts."""

from typing import Any


class Delegate:
    """An attribute of a memory that is an attribute of one of its parts.

    Args:
        part: the memory's attribute that holds the part.
        doc: its docstring.
        name: of the part's attribute, by default the same name.
        setter: the part's method that is called with what the user sets. Such an
            attribute is read and set with other threads waiting.
    """

    def __init__(self, part: str, doc: str, name: str = "", setter: str = "") -> None:
        self._part, self._name, self._setter = part, name, setter
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = self._name or name

    def _of_part(self, memory: Any) -> Any:
        return getattr(vars(memory)[self._part], self._name)

    def __get__(self, memory: Any, owner: type | None = None) -> Any:
        if memory is None or not self._setter:
            return self if memory is None else self._of_part(memory)
        memory.settle()
        with memory.exclusive():
            return self._of_part(memory)

    def __set__(self, memory: Any, value: Any) -> None:
        if not self._setter:
            setattr(vars(memory)[self._part], self._name, value)
            return
        if hasattr(memory, "agent"):  # else its constructor was not called
            memory.settle()
        with memory.exclusive():
            getattr(vars(memory)[self._part], self._setter)(value)


#: a running summary's text
LONG_TERM = Delegate(
    "_summary",
    "The summary; setting it closes the old one and opens a new one.",
    "text",
    "set_by_hand",
)
