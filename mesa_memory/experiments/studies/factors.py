"""A factor of a study: an argument of the model, and the values that are compared."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from mesa_memory.core.arguments import OBJECT, encode, inside, mark_of
from mesa_memory.errors import EmptyDesign
from mesa_memory.experiments.changes import ChangeAfter


@dataclass(frozen=True)
class FactorLevel:
    """One value of a factor.

    Attributes:
        label: what the store and the tables call it; JSON.
        value: what the model gets.
    """

    label: Any
    value: Any


@dataclass(frozen=True)
class Factor:
    """An argument of the model, by name, with its levels in order.

    Attributes:
        name: of the argument; or ``memory``, ``llm`` or a setting of ``configure`` that
            the model itself does not take.
        levels: at least one; with only one it is a constant.
    """

    name: str
    levels: tuple[FactorLevel, ...]

    @classmethod
    def of(cls, name: str, values: Any) -> "Factor":
        """A factor as a user writes it.

        Args:
            values: a list (or another iterable) of values; a dict of values by label;
                or one value, such as a text or a number, that is the same in all runs.

        Raises:
            EmptyDesign: for a factor without values.
            TypeError: for a value that needs a label, or a name that is not text.
            ValueError: for two changes of one label.
        """
        if not isinstance(name, str):
            raise TypeError(f"a factor's name must be a text, got {name!r}")
        if isinstance(values, Mapping):
            levels = [FactorLevel(str(label), value) for label, value in values.items()]
        else:
            levels = [FactorLevel(label_of(name, v), v) for v in _listed(values)]
        if not levels:
            raise EmptyDesign(
                f"the factor {name!r} has an empty list of values: give "
                "at least one, or leave the factor out."
            )
        found = {repr(level.label): level for level in levels}
        for level in levels:
            if (
                isinstance(level.value, ChangeAfter)
                and found[repr(level.label)] != level
            ):
                raise ValueError(
                    f"two changes of the factor {name!r} are called {level.label!r}: "
                    "give each a label of its own, ChangeAfter(step, change, label=…)"
                )
        return cls(name, tuple(found.values()))


def label_of(name: str, value: Any) -> Any:
    """The label of a value: itself if it is plain data, ``module:name`` of a class.

    Raises:
        TypeError: for an object without a name of its own.
    """
    if isinstance(value, Callable) and not isinstance(value, partial):  # type: ignore[arg-type]
        qualified = getattr(value, "__qualname__", "<")
        if "<" not in qualified:
            return f"{value.__module__}:{qualified}"
    if isinstance(value, ChangeAfter) and "<" not in value.label:
        return value.label
    label = encode(value)
    nameless = [part for _, part in inside(label) if mark_of(part) == OBJECT]
    if nameless:
        raise TypeError(
            f"the value {value!r:.80} of the factor {name!r} lacks a name for the "
            "tables. Give it one: "
            f"{{{name!r}: {{'a name': {type(value).__name__}(…), …}}}}"
        )
    return label


def _listed(values: Any) -> Iterable[Any]:
    """Several values as a list; one value as a list of one."""
    if isinstance(values, str | bytes | type) or callable(values):
        return [values]
    if isinstance(values, set | frozenset):
        return sorted(values, key=repr)  # the order of a set differs between processes
    return values if isinstance(values, Iterable) else [values]
