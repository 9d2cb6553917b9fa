"""A reply's schema with the descriptions that a prompt file gives its fields.

A field ``grade`` is described by the part ``field grade``. Models are shown nothing else of
a class: its docstring and its field descriptions are written for readers of the code.
"""

from functools import lru_cache
from typing import Any, ClassVar

from pydantic import BaseModel

from mesa_memory.core.wording import Wording

#: before the name of a field, in the headings of a prompt file
_FIELD = "field "


class _Described(BaseModel):
    """Gives the schema of the class it is mixed into other descriptions.

    Attributes:
        descriptions: by the name of a field, at any depth.
    """

    descriptions: ClassVar[dict[str, str]] = {}

    @classmethod
    def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
        return _with(super().model_json_schema(*args, **kwargs), cls.descriptions)


def described[S: type[BaseModel] | None](
    schema: S, wording: Wording, purpose: str
) -> S:
    """The schema with the descriptions of the task's prompt file; None stays None.

    A class of a task without a prompt file stays as it is.
    """
    names = wording.parts(purpose)
    fields = {
        name.removeprefix(_FIELD): wording(purpose, name)
        for name in names
        if name.startswith(_FIELD)
    }
    if schema is None or not fields:
        return schema
    return _subclass(schema, tuple(fields.items()))


@lru_cache(maxsize=1000)
def _subclass(schema: Any, fields: tuple[tuple[str, str], ...]) -> Any:
    """The class with these descriptions, made once for each language."""
    own = {"descriptions": dict(fields), "__module__": schema.__module__}
    own |= {"__doc__": schema.__doc__, "__qualname__": schema.__qualname__}
    return type(schema.__name__, (_Described, schema), own)


def _with(node: Any, descriptions: dict[str, str]) -> Any:
    """A schema with other descriptions, and without the docstrings of classes."""
    if isinstance(node, list):
        return [_with(item, descriptions) for item in node]
    if not isinstance(node, dict):
        return node
    made = {
        key: _with(value, descriptions)
        for key, value in node.items()
        if key != "description" or not isinstance(value, str)
    }
    properties = made.get("properties")
    if isinstance(properties, dict):
        for name in properties.keys() & descriptions.keys():
            properties[name] = {"description": descriptions[name], **properties[name]}
    return made
