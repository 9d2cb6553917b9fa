"""Requests of Mesa-LLM's reasoning, and their layout for prompt caches.

Providers cache the beginning of a prompt, as far as it is the same as that of an earlier
one. Mesa-LLM puts memory and observation before the instructions, and its task last. Laid
out, a request says the same in the order of how seldom it changes: instructions, persona
and task; the summary; recent steps; recalled events; the
observation; the question.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mesa_memory.core.render import step_pattern
from mesa_memory.core.wording import Wording, languages

#: what stands between two sections of a system prompt of CoT and ReWOO
_BETWEEN = "\n\n        ---\n\n"
_KNOWN = "        # Long-Term Memory\n        {}"
_RECENT = "        # Short-Term Memory (Recent History)\n        {}"
_OBSERVATION = "        # Current Observation\n        "
_INSTRUCTIONS = "        # Instructions\n"
#: how ReAct begins the message with what was said
_SAID = "last communication: \n"
#: where a step begins in the text of a memory of this package
_STEP = re.compile(
    "|".join(f"^{step_pattern('step', Wording(each))}$" for each in languages()),
    re.MULTILINE,
)

type Messages = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class CacheLayout:
    """A request's messages in the order of how seldom they change.

    Attributes:
        messages: the chat messages, oldest first.
        edges: where a cache may cut them, as (message, characters), in order. Up to the
            first one nothing ever changes; up to the last one, it only grows.
    """

    messages: tuple[dict[str, Any], ...]
    edges: tuple[tuple[int, int], ...]


def cache_layout(
    messages: Messages, read: Mapping[str, str], steady: bool, task: str | None
) -> CacheLayout | None:
    """A request of Mesa-LLM's CoT, ReAct or ReWOO; None for another request.

    Args:
        messages: as Mesa-LLM made them.
        read: what was read of the memory for it, by section: ``"long term"``, ``"short
            term"``, ``"memory"``, ``"messages"``.
        steady: whether the long-term section changes less often than the recent steps.
        task: what the agent is to do in each step; None if nothing.
    """
    if not messages or messages[0].get("role") != "system":
        return None
    return _sections(messages, read, steady) or _parts(messages, read, task)


def shows_memory(messages: Messages, read: Mapping[str, str]) -> bool:
    """True if recent steps that were read of a memory stand in one of the messages."""
    recent = read.get("short term", "")
    return bool(recent) and any(recent in _text(message) for message in messages)


def _sections(
    messages: Messages, read: Mapping[str, str], steady: bool
) -> CacheLayout | None:
    """A request of CoT or ReWOO, whose system prompt has a section for each part."""
    if "long term" not in read or "short term" not in read:
        return None
    known, recent = (
        _KNOWN.format(read["long term"]),
        _RECENT.format(read["short term"]),
    )
    middle = _BETWEEN.join(["", known, recent, _OBSERVATION])
    before, found, rest = _text(messages[0]).partition(middle)
    seen, ends, instructions = rest.rpartition(_BETWEEN + _INSTRUCTIONS)
    if not found or not ends:
        return None
    asked = instructions.rstrip().removesuffix("---").rstrip()
    fixed = before + _BETWEEN + _INSTRUCTIONS + asked
    memory = [known, recent] if steady else [recent, known]
    text = _BETWEEN.join([fixed, *memory, _OBSERVATION + seen]) + "\n"
    system = {**messages[0], "content": text}
    begins = text.index(recent, len(fixed))
    steps = _steps(recent, begins)
    edges = [(0, len(fixed)), *((0, place) for place in steps)]
    return CacheLayout((system, *map(dict, messages[1:])), tuple(edges))


def _parts(
    messages: Messages, read: Mapping[str, str], task: str | None
) -> CacheLayout | None:
    """A request of ReAct, with a message for each part."""
    system, *parts = map(dict, messages)
    memory = next((p for p in parts if _text(p) == read.get("memory")), None)
    if memory is None or memory is not parts[0]:
        return None
    said = _SAID + read.get("messages", "")
    earlier = [part for part in parts[1:] if _text(part) == said]
    # A conversation ends with a message of the user's, so something must follow.
    last = parts[-1] if len(parts) > 2 and _text(parts[-1]) == task else None
    tasks = [] if last is None else [last]
    moved = [memory, *earlier, *tasks]
    others = [part for part in parts if not any(part is each for each in moved)]
    ordered = [system, *tasks, *earlier, memory, *others]
    edges = [(n, len(_text(part))) for n, part in enumerate(ordered[: 1 + len(tasks)])]
    place = len(tasks) + len(earlier) + 1
    if earlier:
        edges.append((place - 1, len(_text(ordered[place - 1]))))
    recent = read.get("short term", "")
    begins = _text(memory).find(recent) if recent else -1
    if begins >= 0:
        edges += [(place, step) for step in _steps(recent, begins)]
    return CacheLayout(tuple(ordered), tuple(edges[len(tasks) :]))


def _steps(recent: str, begins: int) -> list[int]:
    """The places where steps begin; the last step may grow, so it is the last edge."""
    found = [match.start() + begins for match in _STEP.finditer(recent)]
    return [place for place in found if place > 0]


def _text(message: Mapping[str, Any]) -> str:
    return message.get("content") or ""
