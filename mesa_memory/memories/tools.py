"""Tools with which an agent searches its own memory and saves notes in it.

``add_memory_tools(agent)`` offers both to the agent's language model, in all of
Mesa-LLM's ways of reasoning. Each call is bound to the agent that makes it.
"""

from itertools import zip_longest
from typing import Any

from mesa_memory.core import importance as grading
from mesa_memory.core import render
from mesa_memory.core.importance import GRADE_MAX
from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.validate import checked_int
from mesa_memory.hosts.mesa_llm import give_tools
from mesa_memory.layers.stream.event_stream import EventStream
from mesa_memory.layers.view import StepView
from mesa_memory.memories.host.interventions import memory_of
from mesa_memory.memories.host.recalls import by_words, text_of

#: kind of the events that an agent saves
KIND = "note"
#: most that one search gives
MAX_FOUND_MEMORIES = 20
#: longest text that is saved, in characters
SAVED_CHARS = 2000


def search_memories(agent: Any, query: str, k: int = 5) -> str:
    """Search your own memory for what has to do with a question.

    Args:
        agent: the agent whose memory it is; filled in for you.
        query: what you want to remember, in your own words.
        k: how many memories you want at most, from 1 to 20.

    Returns:
        What you remember, one memory on a line with its step, best first.
    """
    memory = memory_of(agent)
    _check_text("query", query)
    count = min(checked_int("k", k), MAX_FOUND_MEMORIES)
    view = memory.view()
    records, weak = _found(memory, query, count)
    lines = [view.told("weak match")] * weak
    lines += [_line(record, view) for record in records]
    text = "\n".join(lines) or view.told("found nothing")
    shown_instead = memory.shown_instead  # of a placebo
    return text if shown_instead is None else shown_instead(memory, "search", text)


def save_memory(agent: Any, text: str, importance: int = 3) -> str:
    """Save something in your own memory, to remember it later.

    Args:
        agent: the agent whose memory it is; filled in for you.
        text: what you want to remember, as one sentence.
        importance: how much it matters, from 1 (hardly) to 5 (very much).

    Returns:
        What was saved.
    """
    memory = memory_of(agent)
    _check_text("text", text)
    grade = grading.valid(importance, "importance", GRADE_MAX)
    said = render.one_line(" ".join(text.split()))
    event = memory.arrive(KIND, {KIND: render.shorten(said, SAVED_CHARS)})
    memory.journal.grade(event, _scaled(grade, memory))
    return memory.view().told("saved", text=event.content[KIND])


def add_memory_tools(agent: Any) -> None:
    """Offers ``search_memories`` and ``save_memory`` to an agent; again changes nothing.

    No other agent is offered anything.

    Raises:
        TypeError: if the agent's memory is of another package.
    """
    memory_of(agent)
    give_tools(agent, [search_memories, save_memory])


def _check_text(name: str, text: Any) -> None:
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"{name} must be a text that is not empty, got {text!r:.80}")


def _found(memory: Any, query: str, count: int) -> tuple[list[MemoryRecord], bool]:
    """The records that a query finds, best first, and whether none of them fits.

    A memory that recalls what it has made, such as facts, has other records besides, such
    as what was saved just now: those are found by their words, one of each by turns.
    """
    search = getattr(memory, "search", None)
    found = search(query, count) if search else by_words(memory, query, count)
    recalled = [each.record for each in found.records]
    if not search or any(isinstance(layer, EventStream) for layer in memory.layers):
        return recalled, found.weak  # of all events
    by_word = by_words(memory, query, count)
    worded = [each.record for each in by_word.records if each.score > 0]
    turns = zip_longest(recalled, worded)
    both = {r.id: r for turn in turns for r in turn if r is not None}
    return list(both.values())[:count], found.weak and by_word.weak


def _scaled(grade: float, memory: Any) -> float:
    """A grade from 1 to 5 on the scale of the memory."""
    top = getattr(memory, "importance_scale", GRADE_MAX)
    return 1 + (grade - 1) * (top - 1) / (GRADE_MAX - 1)


def _line(record: MemoryRecord, view: StepView) -> str:
    return render.at_step(record.step, text_of(record, view), view.wording)
