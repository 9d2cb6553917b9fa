"""From a model's reply to a validated value.

Models wrap JSON in fences, prose or ``<think>`` blocks, refuse, stop in the middle or
send nothing. ``read`` accepts every form that is unambiguous and refuses the rest with
a reason that can be shown to the model.
"""

import json
import re
from typing import Any

from pydantic import BaseModel, ValidationError

from mesa_memory.schemas import Summary

#: of a refused reply, as much is shown to the model again
REPAIR_CHARS = 2000
#: of a reply, as much is looked at; more is never needed and may be an attack
READ_CHARS = 100_000

_THINK = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"```[\w-]*\s*\n?(.*?)```", re.DOTALL)
_REFUSAL = re.compile(
    r"^\W*(?:(?:i['’]?m|i am)\s+(?:very\s+|so\s+)?sorry\b"
    r"|(?:sorry|apologies)\s*,?\s*(?:but\s+)?(?:i|as an)\b"
    r"|i\s+(?:can(?:['’]t|not)|won['’]t|am\s+(?:unable|not able)\s+to)\s+"
    r"(?:assist|help|comply|provide|do that|fulfil|continue|summari[sz]e|create|rate)"
    r"|i\s+(?:must|have to)\s+(?:decline|refuse)"
    r"|as an ai\b)",
    re.IGNORECASE,
)
_OPENING = re.compile(r"[{\[]")
_DECODER = json.JSONDecoder()
#: so many brackets are tried as the start of a JSON value
_MAX_TRIES = 200
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


class Unusable(ValueError):
    """Why a reply cannot be used; worded for the model that sent it."""


def read(reply: Any, schema: type[BaseModel], max_chars: int) -> Any:
    """The value in ``reply``, an instance of ``schema``.

    Args:
        max_chars: longest text any field of the value may have.

    Raises:
        Unusable: if the reply is empty, refuses, is truncated, too long or does not
            fit the schema.
    """
    text = _clean(reply.text)
    if not text:
        raise Unusable("the reply was empty")
    if reply.finish == "length":
        raise Unusable("the reply was cut off before its end; be shorter")
    value = _validated(text, schema)
    for name, item in value:
        if isinstance(item, str):
            _check_text(name, item, max_chars)
    return value


def repair_prompt(problem: str) -> str:
    """What the model is told about its refused reply."""
    return (
        f"That reply could not be used: {problem}. "
        "Answer again, with only the JSON object that was asked for."
    )


def _clean(text: str | None) -> str:
    without_thought = _THINK.sub("", (text or "")[:READ_CHARS])
    return _CONTROL.sub("", without_thought).strip()


def _validated(text: str, schema: type[BaseModel]) -> BaseModel:
    problem = "there was no JSON object in it"
    for candidate in _json_values(text):
        try:
            return schema.model_validate(candidate)
        except ValidationError as error:
            problem = "; ".join(
                f"{'.'.join(map(str, e['loc'])) or 'reply'}: {e['msg']}"
                for e in error.errors()[:3]
            )
    # A summary is text anyway; many models send it bare, and it is good.
    if schema is Summary and not text.lstrip("`").startswith(("{", "[", "json")):
        return Summary(summary=text)
    raise Unusable(problem)


def _json_values(text: str) -> list[Any]:
    """Every JSON object or list in ``text``, objects before lists."""
    found: list[Any] = []
    for part in [text, *_FENCE.findall(text)]:
        position = 0
        for _ in range(_MAX_TRIES):
            start = _OPENING.search(part, position)
            if start is None:
                break
            try:
                value, position = _DECODER.raw_decode(part, start.start())
            except (json.JSONDecodeError, RecursionError):
                position = start.start() + 1
            else:
                found.append(value)
    return sorted(found, key=lambda value: not isinstance(value, dict))


def _check_text(name: str, text: str, max_chars: int) -> None:
    if not text.strip():
        raise Unusable(f"{name} was empty")
    if len(text) > max_chars:
        raise Unusable(
            f"{name} has {len(text)} characters; at most {max_chars} are allowed"
        )
    if _REFUSAL.match(text):
        raise Unusable(f"{name} is a refusal, not what was asked for")
