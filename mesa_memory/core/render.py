"""Events, steps and sections of a prompt, within their limits."""

from collections.abc import Iterable, Sequence
from typing import Any

from mesa_memory.core.content import (
    count_tokens,
    one_line,
    shorten,
    tokens_of,
    value_text,
)
from mesa_memory.core.events import ROUTINE_KINDS, event_text, message_text
from mesa_memory.core.records import DERIVED

__all__ = (
    "BLOCK_STEPS", "NONE_YET", "NOTHING_RECENT", "NOTHING_REMEMBERED", "NOTHING_YET", "beyond", "count_tokens",
    "event_text", "folded", "message_text", "newest", "one_line", "record_text", "section",
    "shorten", "step_text", "times", "tokens_of", "value_text",
)  # fmt: skip

#: how many steps leave the recent steps of a laid-out request at a time
BLOCK_STEPS = 5
#: longest text of an event in a record, for readers; the content is kept whole
RECORD_CHARS = 2000
#: what an empty short-term section says (Mesa-LLM's words)
NOTHING_RECENT = "No recent memory."
#: what other sections say as long as they are empty
NONE_YET, NOTHING_YET = "None yet.", "Nothing yet."
NOTHING_REMEMBERED = "Nothing remembered yet."


def step_text(step: Any, lines: Iterable[str]) -> str:
    """A step's heading and its events, one line each."""
    return "\n- ".join([f"Step {value_text(step)}:", *lines])


def record_text(kind: str, origin: str, content: Any) -> str:
    """The text of a record for a researcher; agents are ``Agent 4``, also with a name."""
    if origin == DERIVED and isinstance(content, dict) and "text" in content:
        return str(content["text"])
    return event_text(kind, content, RECORD_CHARS)


def folded(
    steps: Iterable[tuple[Any, Sequence[tuple[str, str]]]],
) -> list[tuple[Any, list[str]]]:
    """Steps and their lines, with each repetition that says nothing new as a number.

    What stays is the last time it happened, so that it is not the first to be cut.

    Args:
        steps: step, and (kind, line) of its events, oldest first.
    """
    shown: dict[Any, list[str]] = {}
    for step, told in _once(list(steps)):
        if told:
            shown.setdefault(step, []).extend([line for _, line in told])
    return list(shown.items())


def folded_lines(
    steps: Iterable[tuple[Any, Sequence[tuple[str, str]]]],
) -> list[tuple[Any, str]]:
    """``folded``, with a (step, line) for each line."""
    return [(step, line) for step, lines in folded(steps) for line in lines]


def _once(
    steps: Iterable[tuple[Any, Sequence[tuple[str, str]]]],
) -> list[tuple[Any, Sequence[tuple[str, str]]]]:
    """The steps with each repetition told in its last place alone, and how often."""
    when: dict[tuple[str, str], list[Any]] = {}
    for step, told in steps:
        for event in told:
            when.setdefault(event, []).append(step)
    left = {event: len(found) for event, found in when.items()}
    kept: list[tuple[Any, Sequence[tuple[str, str]]]] = []
    for step, told in steps:
        lines = []
        for event in told:
            kind, line = event
            left[event] -= 1
            if kind not in ROUTINE_KINDS or len(when[event]) == 1:
                lines.append(event)
            elif not left[event]:
                lines.append((kind, line + times(len(when[event]), when[event][0])))
        kept.append((step, lines))
    return kept


def times(count: int, first: Any) -> str:
    """The note of a line that stands for several; ``first`` is the step of the oldest."""
    return f" ({count} times, first in step {value_text(first)})"


def section(blocks: Sequence[str], limit: int, what: str = "steps") -> str:
    """The newest blocks that fit ``limit`` characters, oldest first.

    At least the newest is shown; of one that does not fit alone, its newest lines. What
    is left out is counted.
    """
    left_out = beyond(blocks, limit)
    shown = list(blocks[left_out:])
    if len(shown) == 1:
        shown = [newest(shown[0], limit)]
    if left_out:
        shown.insert(0, f"({left_out} earlier {what} not shown)")
    return "\n".join(shown)


def newest(block: str, limit: int) -> str:
    """The heading and the newest lines of a block that fit ``limit`` characters.

    At least the newest line is shown, its middle cut if need be.
    """
    if len(block) <= limit:
        return block
    heading, *lines = block.split("\n")
    if not lines:
        return shorten(block, limit)
    room = limit - len(heading) - 1
    left_out = beyond(lines, room)
    shown = lines[left_out:]
    if len(shown) == 1:
        shown = [shorten(shown[0], max(room, 2))]
    note = [f"({left_out} earlier events of this step not shown)"] * bool(left_out)
    return "\n".join([heading, *note, *shown])


def beyond(blocks: Sequence[str], limit: int) -> int:
    """The number of oldest blocks that ``section`` leaves out."""
    used = 0
    for left_out in range(len(blocks), 0, -1):
        used += len(blocks[left_out - 1]) + 1
        if used > limit and left_out < len(blocks):
            return left_out
    return 0
