"""The settings with which a memory was made, for the record."""

import inspect
from collections.abc import Mapping
from typing import Any

from mesa_memory.layers.base import Layer

#: parts of layers that have settings
PARTS = ("grader", "recollection", "reflector")
_PLAIN = (bool, int, float, str, type(None))


def memory_settings(memory: Any) -> dict[str, Any]:
    """Arguments of a memory and of its layers that are still to be seen in them.

    Returns:
        ``{"memory": {name: value}, "layers": {layer: {name: value}}}``, as plain
        data; other values by their class or name. For a placebo, also the text that
        is shown instead of the memory.
    """
    layers = {layer.name: _arguments(layer) for layer in memory.layers}
    found = {"memory": _arguments(memory), "layers": layers}
    shown = memory.shown_instead
    return found if shown is None else found | {"shown_instead": str(shown)}


def _arguments(thing: Any) -> dict[str, Any]:
    """The arguments of a class that its object keeps under their names."""
    kept = vars(thing)
    names = [n for n in inspect.signature(type(thing)).parameters if n in kept]
    # What a layer makes of its arguments, such as a grader, has settings of its own.
    parts = [name for name in PARTS if name in kept and name not in names]
    return {name: _told(kept[name]) for name in (*names, *parts) if name != "agent"}


def _told(value: Any) -> Any:
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, list | tuple):
        return [_told(each) for each in value]
    if isinstance(value, Mapping):
        return {str(key): _told(each) for key, each in value.items()}
    if isinstance(value, type) or inspect.isroutine(value):
        return getattr(value, "__qualname__", repr(value))
    named = type(value).__qualname__
    if isinstance(value, Layer) or not hasattr(value, "__dict__"):
        return named
    return _arguments(value) or named
