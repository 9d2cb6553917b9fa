"""The statement of a record: the same for all records that say the same."""

import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from operator import itemgetter
from typing import Any

from mesa_memory.core.content import is_id
from mesa_memory.core.events import spoken_text
from mesa_memory.core.records import DERIVED, MemoryRecord
from mesa_memory.core.text.naming import folded

#: the key under which a record keeps its statement, beside its text for each voice
KEPT = "statement"
#: whether repetitions are shown as one line with their number, or each by itself
FOLD, KEEP = REPETITIONS = "fold", "keep"
#: signs that end a sentence or stand around words, but for those within a number or a word
_SIGNS = re.compile(r"[.,;:!…。！，、；：\"')\]»](?!\w)|[\"'(\[«](?<!\w.)")


def statement(record: MemoryRecord) -> Hashable:
    """A key that two records share if and only if they say the same.

    Messages of any speakers say the same in the same words: case, spaces and the signs
    that end a sentence make no difference; names, numbers, negations and question marks
    do. Other events are the same with the same kind and content. What a memory made
    itself is never a repetition.
    """
    key: Hashable = record.told.get(KEPT)
    if key is None:
        key = record.told[KEPT] = _statement(record)
    return key


def _statement(record: MemoryRecord) -> Hashable:
    kind, content = record.kind, record.content
    if record.origin == DERIVED:
        return record.id
    if kind == "message" and isinstance(content, Mapping):
        sender = content.get("sender")
        if sender is None or is_id(sender):
            return kind, sender is None, words_key(spoken_text(content))
    return kind, repr(content)


def also_said(
    times: int, others: Iterable[tuple[Any, Any]], called: Callable[[Any], str]
) -> str:
    """The speakers and steps of others that say the same: ``and 3 more: Agent 2 at 12, 14; you at 13``.

    For readers of a recall, in English.

    Args:
        times: how often it was said in all.
        others: sender and step of the newest, but for the one recalled; None of no sender.
        called: gives the name of a sender.
    """
    steps: dict[str, list[str]] = {}
    for sender, step in others:
        who = "" if sender is None else f"{called(sender)} "
        steps.setdefault(who, []).append(f"{step:.15g}")
    told = [f"{who}at {', '.join(at)}" for who, at in steps.items()]
    more = ["…"] * (times - 1 > sum(map(len, steps.values())))
    return f"and {times - 1} more: {'; '.join([*more, *told])}"


def checked_repetitions(given: Any) -> str:
    """One of ``REPETITIONS``.

    Raises:
        ValueError: for anything else.
    """
    if given not in REPETITIONS:
        raise ValueError(
            f"repetitions must be one of {', '.join(map(repr, REPETITIONS))}, got "
            f"{given!r:.80}"
        )
    return str(given)


def words_key(text: str) -> str:
    """The words of a text in the form in which two statements are compared."""
    plain = text.lower() if text.isascii() else folded(text)
    return " ".join(_SIGNS.sub(" ", plain).split())


def repetitions(keys: Iterable[Hashable]) -> list[list[int]]:
    """The places of equal keys together.

    Args:
        keys: oldest first.

    Returns:
        In the order of the last place: that is where a repeated line stays, so that it is
        not the first to be cut.
    """
    places: dict[Hashable, list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    return sorted(places.values(), key=itemgetter(-1))
