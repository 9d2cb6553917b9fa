"""An answer to a request of a user's own purpose, made from its schema and inputs.

It says nothing new: a field named like an input has that input's value, a text is the
last text among the inputs, a number lies in the middle of its range, a choice is the
first one. So a run with thoughts of one's own goes on offline, the same in every process.
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from pydantic import BaseModel, ValidationError

from mesa_memory.core.content import cut, plain
from mesa_memory.core.render import one_line, shorten

#: longest text of an answer
TEXT_CHARS = 240
#: what is said where the inputs have no text
EMPTY_ANSWER = "Nothing comes to mind."
#: deeper values are left out where they may be
_MAX_DEPTH = 8


def generic(schema: type[BaseModel], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """A reply that satisfies ``schema``.

    Raises:
        ValueError: if none could be made, such as for a text with a pattern.
    """
    tree, known = schema.model_json_schema(), plain(dict(inputs))
    text = shorten(last_text(known) or EMPTY_ANSWER, TEXT_CHARS)
    made = _Maker(tree.get("$defs", {}), text).value(tree, 0)
    for name in filter(known.__contains__, tree.get("properties", {})):
        with suppress(ValidationError):
            schema.model_validate(made | {name: known[name]})
            made[name] = known[name]
    schema.model_validate(made)
    return made


def last_text(value: Any) -> str:
    """The last text in plain data that says something, on one line; else empty."""
    found = [one_line(text) for text in _texts(value) if text.strip()]
    return found[-1] if found else ""


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


class _Maker:
    """Makes values for the nodes of one JSON schema."""

    def __init__(self, definitions: Mapping[str, Any], text: str) -> None:
        self._definitions, self._text = definitions, text

    def value(self, node: Mapping[str, Any], depth: int) -> Any:
        """A value that fits the node."""
        if "$ref" in node:
            node = self._definitions[node["$ref"].rpartition("/")[2]]
        if "const" in node or "enum" in node:
            return node.get("enum", [node.get("const")])[0]
        for several in ("anyOf", "oneOf", "allOf"):
            if several in node:
                nodes = node[several]
                empty = any(each.get("type") == "null" for each in nodes)
                return None if empty else self.value(nodes[0], depth)
        kind = node.get("type")
        if kind == "object":
            needed, parts = node.get("required", ()), node.get("properties", {})
            return {n: self.value(parts[n], depth + 1) for n in parts if n in needed}
        if kind == "array":
            return self._list(node, depth)
        if kind in ("number", "integer"):
            return _number(node, whole=kind == "integer")
        if kind in ("boolean", "null"):
            return False if kind == "boolean" else None
        text = cut(self._text, node.get("maxLength", TEXT_CHARS))
        return text.ljust(node.get("minLength", 0), ".")

    def _list(self, node: Mapping[str, Any], depth: int) -> list[Any]:
        least, most = node.get("minItems", 0), node.get("maxItems", math.inf)
        count = max(least, min(1, most)) if depth < _MAX_DEPTH else least
        fixed = node.get("prefixItems", [])
        others = [node.get("items", {})] * max(0, int(count) - len(fixed))
        return [self.value(part, depth + 1) for part in [*fixed, *others]]


def _number(node: Mapping[str, Any], whole: bool) -> float:
    low = node.get("minimum", node.get("exclusiveMinimum"))
    high = node.get("maximum", node.get("exclusiveMaximum"))
    if low is None and high is None:
        return 0
    if low is None or high is None:
        near = low + 1 if high is None else high - 1
    else:
        near = (low + high) / 2
    return math.floor(near) if whole else near
