"""The schema of a reply, as servers take it: written out once for each class.

Servers that force a reply into a schema keep to its ``enum`` and its lengths, and many
ignore ``minimum`` and ``maximum``: a range of few numbers is written as ``enum``.
"""

import json
import math
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from pydantic import BaseModel

#: most numbers of a range that is written out one by one
MAX_ENUM_NUMBERS = 25
#: numbers from one whole number to another go in such steps
STEPS_PER_UNIT = 10
#: no meaning for a server; ``default`` is not allowed in a strict schema
_LEFT_OUT = ("title", "default")
_RANGE = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")

_known: WeakKeyDictionary[type, dict[str, Any]] = WeakKeyDictionary()


def schema_of(kind: type[BaseModel]) -> dict[str, Any]:
    """The strict JSON schema of a class; the same dict each time, not to be changed."""
    return json_schema(kind)["json_schema"]["schema"]


def sent_schema(schema: type | None) -> Any:
    """The schema that a server is asked to keep to; None asks for any text."""
    return None if getattr(schema, "as_text", False) else schema


def json_schema(kind: type[BaseModel]) -> dict[str, Any]:
    """The ``response_format`` that asks for a reply of this class, as ``schema_of``."""
    found = _known.get(kind)
    if found is None:
        tree = kind.model_json_schema()
        schema = _strict(tree, tree.get("$defs", {}), ())
        named = {"name": kind.__name__, "schema": schema, "strict": True}
        found = _known[kind] = {"type": "json_schema", "json_schema": named}
    return found


def response_format(form: Any) -> Any:
    """A user's ``response_format`` as servers take it: of a pydantic class its schema."""
    is_class = isinstance(form, type) and issubclass(form, BaseModel)
    return json_schema(form) if is_class else form


def _strict(node: Any, definitions: Mapping[str, Any], within: tuple[str, ...]) -> Any:
    """A node with all fields required and no others allowed, and ranges written out.

    What it refers to is put in its place, where it does not hold itself.
    """
    if isinstance(node, list):
        return [_strict(item, definitions, within) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        if name in within or name not in definitions:
            return {"$ref": node["$ref"]}
        rest = {key: value for key, value in node.items() if key != "$ref"}
        whole = {**definitions[name], **rest}
        return _strict(whole, definitions, (*within, name))
    made = {
        key: _named(value, definitions, within)
        if key in ("properties", "$defs")
        else _strict(value, definitions, within)
        for key, value in node.items()
        if key not in _LEFT_OUT and key != "$defs"
    }
    if "$defs" in node and '"$ref"' in json.dumps(made):  # a class that holds itself
        made["$defs"] = _named(node["$defs"], definitions, tuple(definitions))
    if made.get("type") == "object" and "properties" in made:
        made["required"] = list(made["properties"])
        made["additionalProperties"] = False
    return _written_out(made)


def _named(
    nodes: Mapping[str, Any], definitions: Mapping[str, Any], within: tuple[str, ...]
) -> dict[str, Any]:
    """Nodes by the names of fields, which may be any words."""
    return {name: _strict(node, definitions, within) for name, node in nodes.items()}


def _written_out(node: dict[str, Any]) -> dict[str, Any]:
    """A range of few numbers as ``enum``; other nodes as they are."""
    numbers = _numbers(node)
    if numbers is None:
        return node
    rest = {key: value for key, value in node.items() if key not in _RANGE}
    return {**rest, "enum": numbers}


def _numbers(node: Mapping[str, Any]) -> list[int] | list[float] | None:
    """All numbers of a node's range, lowest first; None if they are too many."""
    kind = node.get("type")
    low, high = node.get("minimum"), node.get("maximum")
    if kind not in ("integer", "number") or low is None or high is None:
        return None
    if "enum" in node or "const" in node or "multipleOf" in node:
        return None
    if not (
        math.isfinite(low) and math.isfinite(high) and high - low < MAX_ENUM_NUMBERS
    ):
        return None
    if kind == "integer":
        return list(range(math.ceil(low), math.floor(high) + 1)) or None
    tenths = range(round(low * STEPS_PER_UNIT), round(high * STEPS_PER_UNIT) + 1)
    if low != int(low) or high != int(high) or len(tenths) > MAX_ENUM_NUMBERS:
        return None
    return [number / STEPS_PER_UNIT for number in tenths]
