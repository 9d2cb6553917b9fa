"""Events, steps and sections of a prompt, within their limits."""

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from mesa_memory.core.content import (  # noqa: F401 - modules use them as render.…
    count_tokens,
    one_line,
    shorten,
    tokens_of,
    value_text,
)
from mesa_memory.core.events import event_text, message_text, recipients_of, spoken_text  # noqa: F401
from mesa_memory.core.records import DERIVED, MemoryRecord
from mesa_memory.core.wording import ENGLISH, Voice, Wording

#: longest text of an event in a record, for readers; the content is kept whole
RECORD_CHARS = 2000


def step_text(step: Any, lines: Iterable[str], wording: Wording = ENGLISH) -> str:
    """A step's heading and its events, one line each."""
    return "\n- ".join([step_heading(step, wording), *lines])


@lru_cache(maxsize=10_000, typed=True)
def step_heading(step: Any, wording: Wording) -> str:
    """``Step 3:``, which stands above the events of a step."""
    return wording.told("step", step=value_text(step))


def at_step(step: Any, line: str, wording: Wording = ENGLISH) -> str:
    """An event on one line, with its step before it if it has one."""
    if step is None:
        return line
    return wording.told("at step", step=value_text(step), line=line)


def until_step(heading: str, step: float, wording: Wording) -> str:
    """A heading that says which step its text reaches."""
    return wording.told("until", line=heading, step=value_text(step))


@cache
def step_pattern(part: str, wording: Wording = ENGLISH) -> str:
    """A regular expression for the part ``step`` or ``at step`` without its line."""
    text = wording.told(part, step="\0", line="").rstrip("\n")
    return re.escape(text).replace(re.escape("\0"), r"[-\d.]+")


class EventLine(NamedTuple):
    """An event on one line, and what the line depends on.

    Attributes:
        names: of the agents in it, by unique id, as they were called then.
    """

    line: str
    content: Any
    limit: int
    wording: Wording
    owner: Any
    names: dict[Any, str]


def told(event: MemoryRecord, limit: int, voice: Voice) -> EventLine:
    """An event on one line, see ``event_text``; made once, and kept with the event.

    Args:
        voice: of requests about the event's owner, or of texts for the owner.
    """
    known = event.told.get(voice.to_owner) or event.told.get(None)
    if known is not None and known.content is event.content:
        _, _, chars, wording, owner, names = known
        same = chars == limit and wording is voice.wording and owner == voice.owner
        if same and (names.items() <= voice.names.items() or voice.calls(names)):
            return known
    noting = voice.noting()
    line = event_text(event.kind, event.content, limit, noting)
    made = EventLine(
        line, event.content, limit, voice.wording, voice.owner, noting.names
    )
    if voice.owner is not None:  # else nobody's names were noted
        # Without a name, it is the same for all who are told.
        event.told[voice.to_owner if made.names else None] = made
    return made


def record_text(kind: str, origin: str, content: Any) -> str:
    """The text of a record for a researcher; agents are ``Agent 4``, also with a name."""
    if origin == DERIVED and isinstance(content, dict) and "text" in content:
        return str(content["text"])
    return event_text(kind, content, RECORD_CHARS)


def repeated(line: str, count: int, first: Any, wording: Wording = ENGLISH) -> str:
    """A line that stands for several; ``first`` is the step of the oldest."""
    values = {"line": line, "count": count, "step": value_text(first)}
    return wording.told("repeated", **values)


def repeated_message(
    events: Sequence[MemoryRecord], count: int, limit: int, voice: Voice
) -> str:
    """A line for a message that was said several times: by whom, how often, when last.

    Args:
        events: of each time, oldest first, as far as they are kept.
        count: of all times.
        limit: longest line, in characters.
    """
    said = [(event.sender, recipients_of(event.content)) for event in events]
    step, text = value_text(events[-1].step), spoken_text(events[-1].content)
    return shorten(voice.repeated_message(said, count, step, text), limit)


def section(
    blocks: Sequence[str], limit: int, what: str = "steps", wording: Wording = ENGLISH
) -> str:
    """The newest blocks that fit ``limit`` characters, oldest first.

    At least the newest is shown; of one that does not fit alone, its newest lines. What
    is left out is counted, by the part ``left out`` with the name ``what``.
    """
    left_out = beyond(blocks, limit)
    shown = list(blocks[left_out:])
    if len(shown) == 1:
        shown = [newest(shown[0], limit, wording)]
    if left_out:
        shown.insert(0, wording.told(f"left out {what}", count=left_out))
    return "\n".join(shown)


def newest(block: str, limit: int, wording: Wording = ENGLISH) -> str:
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
    if left_out:
        shown.insert(0, wording.told("left out step events", count=left_out))
    return "\n".join([heading, *shown])


def beyond(blocks: Sequence[str], limit: int) -> int:
    """The number of oldest blocks that ``section`` leaves out."""
    used = 0
    for left_out in range(len(blocks), 0, -1):
        used += len(blocks[left_out - 1]) + 1
        if used > limit and left_out < len(blocks):
            return left_out
    return 0
