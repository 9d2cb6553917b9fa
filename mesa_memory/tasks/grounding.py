"""Refuses replies that are not summaries, and marks doubtful summaries.

A greeting, a refusal or an error is refused. Every other reply is used. A summary is
doubtful if it shares nothing with the events, repeats or drops the summary before it,
tells almost only one of several events, or keeps none of several numbers. Names are compared by their sound in Latin
letters, so that Анна is Anna; summaries may be in another language than the events.
"""

import re
from collections.abc import Sequence
from functools import cache, lru_cache

from mesa_memory.core.text.refusals import speaks_to_user
from mesa_memory.core.text.replies import Unusable, is_json
from mesa_memory.tasks.base import Inputs, vocabulary_of
from mesa_memory.tasks.offline.terms import Terms, letters, plain_words

#: the new summary keeps at least one term in this many of the old one …
KEEP_ONE_OF = 10
#: … but need not keep more than this many
KEEP_AT_MOST = 5
#: an event is told clearly with this many terms that no other one has
CLEAR_TERMS = 2
#: length in characters from which a summary has had to choose what to tell
FULL_CHARS = 1000
#: one event of several is almost all that is told from this share, and number, of terms
ONE_SHARE, ONE_SHARE_OF_TWO, ONE_TERMS = 0.6, 0.8, 3

NOTHING_SHARED = "shares no name, number or word with the events"
REPEATED = "adds nothing of the events to the summary before it"
DROPPED = "drops the content of the summary before it"
ONE_EVENT = "tells one of several events"
NO_NUMBER = "keeps none of several numbers"

#: longest line of an exchange of two that may be told as one event, in characters
SHORT_CHARS = 160
#: between a speaker, or the name of a deed, and what was said or done
_COLON = re.compile(r" ?: |：")
#: an agent without a name; it, and what is in brackets, such as places
_AGENT = r"\bAgent \S+"
_NO_MATTER = re.compile(rf"{_AGENT}|[(\[（].*?[)\]）]")
_NUMBER, _DIGITS = re.compile(r"\d+(?:[.,]\d+)*"), re.compile(r"\d+")


def check_summary(text: str, inputs: Inputs) -> None:
    """Refuses a greeting, a refusal and an error in the place of a summary.

    Args:
        inputs: ``lines`` (step, line) of the events.

    Raises:
        Unusable: worded for the model that wrote it.
    """
    if is_json(text):
        raise Unusable("json text")
    if not speaks_to_user(text):
        return
    new = Terms.of(text)
    if len(set().union(*(new.shared(Terms.of(line)) for line in _said(inputs)))) <= 1:
        raise Unusable("no summary")


def doubt_of(text: str, inputs: Inputs) -> str:
    """Why a summary is doubtful; empty if it is not.

    Args:
        inputs: ``lines`` (step, line) of the events, ``max_chars``; if there is one,
            ``summary``, the one before; of a conversation, names of the ``others``.
    """
    lines, known = _said(inputs), inputs.get("summary", "")
    if "others" in inputs and not any(len(Terms.of(_speech(line))) for line in lines):
        return ""  # small talk
    new, old, events = Terms.of(text), Terms.of(known), [*map(Terms.of, lines)]
    if not _is_clear(new, old, events):
        sources = [*events, Terms.of(inputs.get("others", ""))]
        if known and letters(text) == letters(known):
            full = len(known) >= min(FULL_CHARS, inputs["max_chars"] // 2)
            adds = any(len(source.without(old)) for source in sources)
            return REPEATED if adds and not full else ""
        if _drops(new, old):
            return DROPPED
        if not any(new.shared(source) for source in sources):
            return REPEATED if len(old) else NOTHING_SHARED
        if not _one_exchange(lines) and _tells_one(new, events):
            return ONE_EVENT
    return NO_NUMBER if _drops_numbers(text, lines, inputs) else ""


def _is_clear(new: Terms, old: Terms, events: Sequence[Terms]) -> bool:
    """True for a summary that tells most of the events, and keeps the one before.

    No other check but that of numbers would find it doubtful, and this one needs no
    language of a text.
    """
    said, kept = new.sure, new.sure & old.sure
    if len({*events}) < len(events):
        return False
    if old.text and (len(kept) < KEEP_AT_MOST or len(kept) == len(said)):
        return False
    clear = 0
    for event in events:
        rest = (other.possible for other in events if other is not event)
        clear += len((said & event.sure).difference(*rest)) >= CLEAR_TERMS
    return 2 * (clear - 1) >= len(events) - 1 and clear > 0


def _drops(new: Terms, old: Terms) -> bool:
    """True if a summary has lost the one before it."""
    if not len(old):
        return False
    need = min(KEEP_AT_MOST, len(old) // KEEP_ONE_OF, len(new) // 4)
    if new.language != old.language:
        need = 1
    return len(new.shared(old)) < max(1, need)


def _tells_one(new: Terms, events: Sequence[Terms]) -> bool:
    """True if a summary of several events covers almost only one of them."""
    shared = [new.shared(event) for event in events]
    best = events[max(range(len(events)), key=lambda n: len(shared[n]))]
    others = [event.without(best) for event in events if event is not best]
    others = [event for event in others if len(event)]
    told = [len(new.shared(event)) for event in others]
    if not any(told):
        return bool(others)
    well = sum(n >= min(2, len(event)) for n, event in zip(told, others, strict=True))
    if 2 * well >= len(others):
        return False
    rest = [event for event in events if event is not best]
    common = set().union(*(e.words | e.names | e.numbers for e in rest))
    every = set().union(*shared)
    own = len(every - common)
    share = ONE_SHARE if len(others) > 1 else ONE_SHARE_OF_TWO
    return own >= ONE_TERMS and own >= share * len(every)


def _one_exchange(lines: Sequence[str]) -> bool:
    """True for two short lines of which each speaker is named in the other one."""
    if len(lines) != 2 or max(map(len, lines)) > SHORT_CHARS:
        return False
    (one, *said), (other, *answer) = (_COLON.split(line, maxsplit=1) for line in lines)
    speakers = [plain_words(head)[:1] for head in (one, other)]
    named = {*plain_words(one)} & {*plain_words(other)}
    return bool(said and answer and speakers[0] != speakers[1]) and all(
        named.issuperset(who) for who in speakers
    )


def _drops_numbers(text: str, lines: Sequence[str], inputs: Inputs) -> bool:
    """True if the events tell several numbers and a summary keeps not one."""
    told = set().union(*map(_numbers, lines))
    if len(told) < 2:
        return False
    # 4.20 may be told as 4,2.
    parts = {part for number in told for part in _DIGITS.findall(number)}
    found = _digits_or_steps(vocabulary_of(inputs).steps.pattern).finditer(text)
    return all(each[1] not in parts for each in found)


@lru_cache(maxsize=1024)
def _numbers(line: str) -> frozenset[str]:
    """The numbers that a line of an event tells."""
    return frozenset(_NUMBER.findall(_NO_MATTER.sub(" ", _speech(line))))


@cache
def _digits_or_steps(steps: str) -> re.Pattern[str]:
    """Finds the numbers of a text, in group 1, and agents and steps without a group."""
    return re.compile(rf"{_AGENT}|(?:{steps})\d*|(\d+)", re.IGNORECASE)


def _said(inputs: Inputs) -> list[str]:
    """The lines of the events, without the kind of event that some begin with."""
    return [_line(line) for _, line in inputs["lines"]]


def _line(line: str) -> str:
    kind, colon, rest = line.partition(": ")
    return rest if colon and kind.isidentifier() else line


def _speech(line: str) -> str:
    """The words of a line, without the speaker."""
    return _COLON.split(line, maxsplit=1)[-1]
