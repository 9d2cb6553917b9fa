"""Tells a summary of some events from a text that only stands in its place.

A greeting, an error page, "no changes", or what one hostile message dictates is well
formed and says nothing of the events. So a summary has to share something with them:
names, numbers, or words that mean something. Names are compared by their sound in Latin
letters, so that Анна is Anna; summaries may be in another language than the events.
"""

import re
from collections.abc import Sequence

from mesa_memory.core.replies import Unusable
from mesa_memory.tasks.terms import Terms, letters, plain_words, spaced, stem

#: a shared name proves as much as two shared words or numbers; so much is enough
ENOUGH = 2
#: less is enough for a text of few words, of which it is such a part
PART = 1 / 6
#: the new summary keeps at least one term in this many of the old one …
KEEP_ONE_OF = 10
#: … but need not keep more than this many
KEEP_AT_MOST = 5
#: length in characters from which a summary has had to choose what to tell
FULL_CHARS = 1000
#: fewest words of a quotation
QUOTED = 4

#: what kind of event it was, where its line begins
_KIND = re.compile(r"\n\w++: ")
#: who spoke, or what kind of event it was
_HEAD = re.compile(r"^(?:agent \S+ says|[\w ]{1,30}):\s*", re.IGNORECASE)


def check_summary(text: str, lines: Sequence[str], known: str, max_chars: int) -> None:
    """Lets a summary pass that has to do with what it covers.

    Args:
        text: the new summary.
        lines: the events that it is to cover, each on one line.
        known: the old summary, which it is to keep; empty if there is none.
        max_chars: longest summary; one that has no room left may tell nothing new.

    Raises:
        Unusable: worded for the model that wrote it.
    """
    told = "\n".join(["", *lines])
    bare = _KIND.sub("\n", told)
    new, old, said = Terms.of(text), Terms.of(known), letters(text)
    if known and said == letters(known) and plain_words(text) == plain_words(known):
        full = len(known) >= min(FULL_CHARS, max_chars // 2)
        _check_repeated(Terms.once(bare).without(old), full)
        return
    if not _surely_told(new, bare):  # as nearly all are, in a third of the time
        events = Terms.once(bare)
        if not len(events):
            return
        _check_told(new, events)
    _check_kept(new, old)
    # The sound of a line in ASCII is no longer than the line.
    is_part = max(map(len, lines)) >= len(said) or not told.isascii()
    if is_part and _quotes(text, lines):  # hardly ever; then each line is looked into
        each = map(Terms.of, bare.split("\n")[1:])
        best = max(each, key=lambda line: sum(map(len, new.shared(line))))
        if len(Terms.once(bare).without(best)) or len(old.without(best)):
            raise Unusable(
                "summary is a quotation from one event; tell what all of them say"
            )


def _check_repeated(fresh: Terms, full: bool) -> None:
    """The old summary may stay as it is if there is no room, or nothing new to tell."""
    if len(fresh) and not full:
        raise Unusable(
            "summary only repeats the existing memory; tell of the new events, too"
            f"{_such_as(fresh)}"
        )


def _surely_told(new: Terms, events: str) -> bool:
    """True if a summary has words of the events that are in no name there.

    Then ``_check_told`` lets it pass. It also may where this is false.
    """
    told = spaced(events)
    small, found = told.lower(), set()
    for word in new.heard:
        if word.plain and f" {word.sound} " in told:
            begins = f" {word.stem}"
            if told.count(begins) == small.count(begins):  # never with a capital
                found.add(word.stem)
                if len(found) == ENOUGH:
                    return True
    return False


def _check_told(new: Terms, events: Terms) -> None:
    """The summary must share enough with the events, and be more than a name."""
    named = len(new.names) + len(events.names)
    if new.shares(events) >= ENOUGH and len(new.words) > named:
        return  # it is more than names, whichever of them are the same
    names, words = new.shared(events)
    proof = 2 * len(names) + len(words)
    if new.language != events.language:  # only names and numbers can be shared
        proof += len(words & events.numbers)
    more = (names and words) or new.words - {stem(name) for name in names}
    enough = proof >= ENOUGH or proof >= PART * len(new)
    if not proof or not enough or (events.words and not more):
        raise Unusable(
            "summary tells nothing of the events to consolidate; name who and what "
            f"they are about{_such_as(events)}"
        )


def _check_kept(new: Terms, old: Terms) -> None:
    """The old summary must not be given up for one event."""
    if not len(old):
        return
    need = max(1, min(KEEP_AT_MOST, len(old) // KEEP_ONE_OF, len(new) // 4))
    if new.language != old.language:
        need = 1
    if new.shares(old) >= need:
        return
    names, words = new.shared(old)
    if len(names) + len(words) < need:
        raise Unusable(
            "summary drops what the existing memory holds; keep that, and add what is "
            f"new{_such_as(old)}"
        )


def _quotes(text: str, lines: Sequence[str]) -> bool:
    """True for a part of a single message, word for word: what that dictates."""
    quote = plain_words(text)
    if len(quote) < QUOTED:
        return False
    if not set(plain_words("\n".join(lines))).issuperset(quote):
        return False  # as nearly always
    for line in lines:
        said = plain_words(_HEAD.sub("", line, count=1))
        ends = range(len(said) - len(quote) + 1)
        if len(said) < len(quote) + 2 or quote[0] not in said:
            continue
        if any(said[i : i + len(quote)] == quote for i in ends):
            return True
    return False


def _such_as(terms: Terms) -> str:
    """Some of the terms that are missed, for the model that writes again."""
    found = sorted(terms.names)[:5] + sorted(terms.numbers)[:3]
    return f", such as {', '.join(found)}" if found else ""
