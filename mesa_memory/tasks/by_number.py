"""Replies with a list, such as one answer for each item of a numbered list."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, model_validator

from mesa_memory.core.content import shorten
from mesa_memory.core.text.replies import Unusable

#: a longer line is no item's number and what is said of it
LINE_CHARS = 80


_DIGITS = re.compile(r"\s*\d{1,6}\s*")


class ListReply(BaseModel):
    """A reply with one list; models also send the list bare, or its single item."""

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, value: Any) -> Any:
        name = next(iter(cls.model_fields))
        if isinstance(value, dict) and not cls.model_fields.keys() & value.keys():
            value = [value]
        return {name: value} if isinstance(value, list) else value


def _listed(value: Any) -> Any:
    alone = isinstance(value, int | str) and not isinstance(value, bool)
    return [value] if alone else value


#: numbers of items; models also send a single one
Numbers = Annotated[list[int], BeforeValidator(_listed)]


def whole(value: Any) -> int | None:
    """A whole number, also as text or as 3.0; None for anything else."""
    if type(value) is int:  # also one that is too long for a float
        return value
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if math.isfinite(value) and value == int(value) else None


def _whole_numbers(value: Any) -> list[int]:
    """The whole numbers of a list, or a single one; all else is left out."""
    items = value if isinstance(value, list) else [value]
    return [number for number in map(whole, items) if number is not None]


#: numbers of items that a reply may lack; all else is left out
AnyNumbers = Annotated[list[int], BeforeValidator(_whole_numbers)]


def named(value: Any, **names: Iterable[str]) -> dict[str, Any]:
    """The parts of one answer, by any of their usual names.

    Args:
        value: as it was given; a bare one is the last part.
        **names: of each part what it may be called, the first found counts.
    """
    if not isinstance(value, dict):
        *others, last = names
        return {**dict.fromkeys(others), last: value}
    given = {str(key).lower(): part for key, part in value.items()}
    return {
        part: next((given[n] for n in known if n in given), None)
        for part, known in names.items()
    }


def in_lines(text: str, line: re.Pattern, *parts: str) -> list[dict[str, str]]:
    """The answers in a text that has one on a line.

    Args:
        line: of a whole line, with a group for each part.
        *parts: their names.
    """
    short = (each for each in text.splitlines() if len(each) <= LINE_CHARS)
    found = filter(None, map(line.fullmatch, short))
    return [dict(zip(parts, match.groups(), strict=True)) for match in found]


def list_schema(count: int, parts: Mapping[str, Any]) -> dict[str, Any]:
    """JSON schema of a list of exactly ``count`` answers.

    Args:
        parts: schema of each part of an answer.
    """
    item = {
        "type": "object",
        "properties": dict(parts),
        "required": list(parts),
        "additionalProperties": False,
    }
    return {"items": item, "minItems": count, "maxItems": count}


def checked(
    numbers: Sequence[int | None], count: int, item: str, answer: str
) -> Sequence[int | None]:
    """The numbers of the items that answers are about; by their order if none has any.

    Args:
        numbers: as they were given.
        count: how many items there are.
        item, answer: what they are called, such as ``"event"`` and ``"grade"``.

    Raises:
        Unusable: if it cannot be told which answer is whose.
    """
    if all(number is None for number in numbers):
        if len(numbers) != count:
            raise Unusable(f"count {item}", most=count, count=len(numbers))
        return range(1, count + 1)
    known = {n for n in numbers if n is not None and 1 <= n <= count}
    if len(known) < len(numbers):
        got = shorten(str(numbers), 80)
        raise Unusable(f"numbers {item}", most=count, got=got)
    return numbers
