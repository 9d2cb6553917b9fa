"""Differences of two versions of a text, word by word."""

import re
from difflib import SequenceMatcher

#: marks of a piece of text
SAME, ADDED, REMOVED = "same", "added", "removed"
#: words of both versions together; more are not compared word by word
COMPARED_CHARS = 6_000


def changes(old: str, new: str) -> list[tuple[str, str]]:
    """The new text, with what was added and removed, as (mark, text) in order."""
    before, after = _words(old), _words(new)
    if len(before) + len(after) > COMPARED_CHARS:
        same = old == new
        return [(SAME, new)] if same else [(REMOVED, old), (ADDED, new)]
    found: list[tuple[str, str]] = []
    # A line that is broken elsewhere has not changed.
    old_words, new_words = ([w.strip() for w in words] for words in (before, after))
    matcher = SequenceMatcher(None, old_words, new_words, autojunk=False)
    for what, start, end, first, last in matcher.get_opcodes():
        if what == "equal":
            found.append((SAME, "".join(after[first:last])))
            continue
        if end > start:
            found.append((REMOVED, "".join(before[start:end])))
        if last > first:
            found.append((ADDED, "".join(after[first:last])))
    return found


def _words(text: str) -> list[str]:
    """The words of a text, each with the space after it."""
    return re.findall(r"\s+|\S+\s*", text)
