"""An answer to a request of a user's own purpose, made from its schema and inputs.

It says nothing new: a field named like an input keeps that input's value, a text is the
last text among the inputs, a number lies in the middle of its range, a choice is the
first one. So a run with thoughts of one's own goes on offline, the same in every process.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from mesa_memory.core.content import plain
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
    tree = schema.model_json_schema()
    known = plain(dict(inputs))
    text = shorten(last_text(known) or EMPTY_ANSWER, TEXT_CHARS)
    made = _Maker(tree.get("$defs", {}), text).value(tree, known, 0)
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

    def value(self, node: Mapping[str, Any], known: Any, depth: int) -> Any:
        """A value that fits the node; ``known`` if that may be it."""
        if "$ref" in node:
            node = self._definitions[node["$ref"].rpartition("/")[2]]
        if "const" in node or "enum" in node:
            choices = node.get("enum", [node.get("const")])
            return known if known in choices else choices[0]
        for several in ("anyOf", "oneOf", "allOf"):
            if several in node:
                return self._one_of(node[several], known, depth)
        kind = node.get("type")
        if kind == "object":
            return self._object(node, known, depth)
        if kind == "array":
            return self._list(node, known, depth)
        if kind in ("number", "integer"):
            return _number(node, known, whole=kind == "integer")
        if kind == "boolean":
            return known if isinstance(known, bool) else False
        if kind == "null":
            return None
        return self._said(node, known)

    def _one_of(self, nodes: list[Any], known: Any, depth: int) -> Any:
        """None where that is possible and nothing is known; else the first that fits."""
        empty = [node for node in nodes if node.get("type") == "null"]
        if empty and known is None:
            return None
        return self.value(next(n for n in nodes if n not in empty), known, depth)

    def _object(self, node: Mapping, known: Any, depth: int) -> dict[str, Any]:
        given = known if isinstance(known, dict) else {}
        needed = node.get("required", ())
        return {
            name: self.value(part, given.get(name), depth + 1)
            for name, part in node.get("properties", {}).items()
            if name in needed or name in given
        }

    def _list(self, node: Mapping, known: Any, depth: int) -> list[Any]:
        least, most = node.get("minItems", 0), node.get("maxItems", math.inf)
        count = max(least, min(1, most)) if depth < _MAX_DEPTH else least
        fixed = node.get("prefixItems", [])
        others = [node.get("items", {})] * max(0, int(count) - len(fixed))
        here = known if isinstance(known, list) else []
        return [
            self.value(part, here[place] if place < len(here) else None, depth + 1)
            for place, part in enumerate([*fixed, *others])
        ]

    def _said(self, node: Mapping, known: Any) -> str:
        text = known if isinstance(known, str) else self._text
        text = shorten(text, min(TEXT_CHARS, node.get("maxLength", TEXT_CHARS)))
        return text.ljust(node.get("minLength", 0), ".")


def _number(node: Mapping[str, Any], known: Any, whole: bool) -> float:
    low = node.get("minimum", node.get("exclusiveMinimum"))
    high = node.get("maximum", node.get("exclusiveMaximum"))
    if isinstance(known, int | float) and not isinstance(known, bool):
        fits = (low is None or known >= low) and (high is None or known <= high)
        if fits and (not whole or known == int(known)):
            return known
    if low is None and high is None:
        return 0
    if low is None or high is None:
        near = low + 1 if high is None else high - 1
    else:
        near = (low + high) / 2
    return math.floor(near) if whole else near
