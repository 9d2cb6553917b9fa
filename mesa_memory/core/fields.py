"""Objects of other packages in the content of events: agents, and named fields."""

import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from types import SimpleNamespace
from typing import Any


def is_agent(value: Any) -> bool:
    """True for an agent of Mesa; another object with a ``unique_id`` is data."""
    mesa = sys.modules.get("mesa")
    return mesa is not None and isinstance(value, mesa.Agent)


def fields_of(value: Any, shallow: Callable[[Any], Any]) -> dict[str, Any] | None:
    """The named fields of an object; None for an object of another form.

    Dataclasses, named tuples, namespaces, classes of pydantic and attrs, and
    rows of pandas have named fields. So has an object with a ``unique_id`` whose class
    does not say how it is written.

    Args:
        shallow: gives a value without its parts. A plain object may hold a whole model.
    """
    kind = type(value)
    pandas = sys.modules.get("pandas")
    if pandas and isinstance(value, pandas.Series) and value.index.is_unique:
        return value.to_dict()
    if isinstance(value, SimpleNamespace):
        return dict(vars(value))
    names: list[str] = []
    if is_dataclass(kind):
        names = [each.name for each in fields(kind)]
    elif listed_by := _attribute(kind, "__attrs_attrs__"):
        names = [each.name for each in listed_by]
    elif isinstance(value, tuple):
        names = [*(_attribute(kind, "_fields") or ())]
    elif _attribute(kind, "__pydantic_validator__"):
        names = [*kind.model_fields, *(value.__pydantic_extra__ or ())]
    elif not _has_text(kind) and "unique_id" in (_attribute(value, "__dict__") or ()):
        return {name: shallow(each) for name, each in vars(value).items()}
    return {name: _attribute(value, name) for name in names} if names else None


def _has_text(kind: type) -> bool:
    """True for a class that says how its objects are written."""
    return (kind.__str__, kind.__repr__) != (object.__str__, object.__repr__)


def _attribute(value: Any, name: str) -> Any:
    """An attribute; None if it is missing or cannot be read."""
    try:
        return getattr(value, name, None)
    except Exception:  # a user's __getattr__ may do anything
        return None
