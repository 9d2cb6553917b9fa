"""An agent answers a researcher's question from its memory."""

import re
from enum import Enum
from typing import Any

from pydantic import BaseModel

import mesa_memory.tasks.offline.themes as themes
from mesa_memory.core.render import step_pattern
from mesa_memory.tasks.base import Inputs, Task, wording_of

_WHOLE = re.compile(r"(?<!Agent )(?<!\w)[-+]?\d+(?![\d.]*\d)")
_NUMBER = re.compile(r"(?<!Agent )(?<!\w)[-+]?\d+(?:\.\d+)?")


def values(inputs: Inputs) -> dict[str, Any]:
    """The values of the prompt."""
    schema = inputs.get("schema")
    return {
        "question": inputs["question"],
        "memory": inputs["memory"].strip(),
        "recalled": inputs["recalled"],
        "fields": "" if schema is None else f"{{{_fields(schema)}}}",
    }


def offline(inputs: Inputs) -> Any:
    """The line of the memory that shares the most words with the question.

    For a number or a choice, the first one in that line; a line without one is not an
    answer.
    """
    lines = [*inputs["memory"].splitlines(), *inputs["recalled"]]
    wording, schema = wording_of(inputs), inputs.get("schema")
    line = themes.answer(inputs["question"], lines, wording)
    if line is None:
        return wording("probe", "offline unknown")
    if schema is None:
        return line
    said = re.sub(f"^{step_pattern('at step', wording)}", "", line)
    found = {n: _read(f.annotation, said) for n, f in schema.model_fields.items()}
    return line if None in found.values() else found


def _fields(schema: type[BaseModel]) -> str:
    """The fields of a schema, as a model is told of them."""
    told = []
    for name, field in schema.model_fields.items():
        kind = getattr(field.annotation, "__name__", str(field.annotation))
        told.append(f'"{name}": {field.description or kind}')
    return ", ".join(told)


def _read(kind: Any, line: str) -> Any:
    """The value of a kind that a line contains; None without one."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        said = line.casefold()
        places = {c.value: said.rfind(str(c.value).casefold()) for c in kind}
        best = max(places, key=lambda choice: (places[choice], len(str(choice))))
        return best if places[best] >= 0 else None
    if kind is int or kind is float:
        number = (_WHOLE if kind is int else _NUMBER).search(line)
        return None if number is None else kind(number[0])
    return line if kind is str or kind is Any else None


def _schema(inputs: Inputs) -> Any:
    """The shape of the answer; None for plain text."""
    return inputs.get("schema")


#: inputs: ``question``; ``memory``, what the agent is shown of it; ``recalled``, what
#: the question brings to mind; ``schema``, of the answer, if it is no plain text
PROBE = Task("probe", _schema, values=values, offline=offline)
