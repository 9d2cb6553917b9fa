"""Entries and records as plain prompt text, within limits.

One event is one line: line breaks and control characters in what agents say are
escaped, so no message can add a line that looks like another speaker or another step.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

#: what an empty short-term section says (Mesa-LLM's words)
NOTHING_RECENT = "No recent memory."

_BREAKS = {"\n": "\\n", "\r": "\\r", "\t": " ", "\u2028": "\\n", "\u2029": "\\n"}
_INVISIBLE = [
    *range(0x20),
    *range(0x7F, 0xA0),
    *range(0x202A, 0x202F),  # turn the reading direction around
    *range(0x2066, 0x206A),
    0xFEFF,
]
_ESCAPES = str.maketrans({chr(code): f"\\x{code:02x}" for code in _INVISIBLE} | _BREAKS)
_UNSAFE = re.compile("[" + re.escape("".join(map(chr, _ESCAPES))) + "]")


def one_line(text: str) -> str:
    """``text`` without anything that breaks a line or hides."""
    # Nearly every text is clean, and looking is faster than translating.
    return text.translate(_ESCAPES) if _UNSAFE.search(text) else text


def shorten(text: str, limit: int) -> str:
    """``text`` cut to about ``limit`` characters, saying how many are left out."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… ({len(text) - limit} more characters)"


def count_tokens(text: str) -> int:
    """An estimate without a tokenizer: four characters to a token."""
    return (len(text) + 3) // 4


def value_text(value: Any) -> str:
    """Any plain value on one line, compact, without quotes."""
    if isinstance(value, str):
        return one_line(value)
    if type(value) is int:
        return str(value)
    if _is_mapping(value):
        return "{" + _pairs(value) + "}"
    # A tuple that was stored comes back as a list; prompts must not tell them apart.
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(value_text, value)) + "]"
    return one_line(str(value))


def message_text(content: Any, limit: float = math.inf) -> str:
    """A message's content as ``Agent 4 says: …``; a bare text as it is.

    Args:
        limit: longest text of a value, in characters.
    """
    if not _is_mapping(content):
        return value_text(_cut(content, limit))
    text, sender = content.get("message"), content.get("sender")
    if text is None:
        rest = {k: v for k, v in content.items() if k not in _MESSAGE_KEYS}
        said = _pairs(_all_cut(rest, limit))
    else:
        said = value_text(_cut(text, limit))
    if sender is None:
        return said
    return f"Agent {value_text(_cut(sender, limit))} says: {said}"


_MESSAGE_KEYS = ("sender", "recipients", "importance")


def event_text(kind: str, content: Any, limit: int) -> str:
    """One event on one line, at most about ``limit`` characters."""
    # A huge text is cut before it is escaped: the rest would be thrown away anyway.
    if kind == "message":
        return shorten(message_text(content, limit), limit)
    if _is_mapping(content):
        content = _all_cut(content, limit)
        body = _calls_text(content) or _own_text(kind, content) or _pairs(content)
    else:
        body = value_text(_cut(content, limit))
    return shorten(f"{one_line(str(kind))}: {body}", limit)


def step_text(step: Any, lines: Iterable[str]) -> str:
    """A step's heading and its events, one line each."""
    return "\n".join([f"Step {value_text(step)}:", *(f"- {line}" for line in lines)])


def section(blocks: Sequence[str], limit: int, what: str = "steps") -> str:
    """The newest blocks that fit ``limit`` characters, oldest first.

    At least the newest is shown, cut if need be; what is left out is counted.
    """
    left_out = beyond(blocks, limit)
    shown = list(blocks[left_out:])
    if len(shown) == 1:
        shown = [shorten(shown[0], limit)]
    if left_out:
        shown.insert(0, f"({left_out} earlier {what} not shown)")
    return "\n".join(shown)


def beyond(blocks: Sequence[str], limit: int) -> int:
    """How many of the oldest blocks ``section`` leaves out."""
    used = 0
    for left_out in range(len(blocks), 0, -1):
        used += len(blocks[left_out - 1]) + 1
        if used > limit and left_out < len(blocks):
            return left_out
    return 0


def _is_mapping(value: Any) -> bool:
    # Asking for a Mapping takes four times as long as asking for a dict.
    return isinstance(value, dict) or isinstance(value, Mapping)  # noqa: SIM101


def _cut(value: Any, limit: float) -> Any:
    if isinstance(value, str) and len(value) > limit:
        return shorten(value, int(limit))
    return value


def _all_cut(mapping: Mapping, limit: float) -> dict:
    return {key: _cut(value, limit) for key, value in mapping.items()}


def _pairs(mapping: Mapping) -> str:
    return ", ".join(f"{one_line(str(k))}: {value_text(v)}" for k, v in mapping.items())


def _own_text(kind: str, content: Mapping) -> str | None:
    """The text of a reflection, whose depth is nothing to show; None for all else."""
    own = kind == "reflection" and {"text", "depth"} <= content.keys()
    return value_text(content["text"]) if own else None


def _calls_text(content: Mapping) -> str | None:
    """Mesa-LLM's ``{"tool_calls": [{"name", "response"}]}``; None for all else."""
    calls = content.get("tool_calls")
    if not isinstance(calls, list) or not all(
        isinstance(call, Mapping) and "name" in call for call in calls
    ):
        return None
    texts = []
    for call in calls:
        rest = {k: v for k, v in call.items() if k not in ("name", "response")}
        given = f" ({_pairs(rest)})" if rest else ""
        result = f" -> {value_text(call['response'])}" if "response" in call else ""
        texts.append(f"{value_text(call['name'])}{given}{result}")
    others = {k: v for k, v in content.items() if k not in ("tool_calls", "importance")}
    return "; ".join(texts or ["none"]) + (f", {_pairs(others)}" if others else "")
