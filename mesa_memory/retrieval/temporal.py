"""Reads the time that a question asks about, apart from its subject.

English only; a question in another language lacks cues and is taken as it is.

- *Step*: ``step 40``, with ``at``, ``in``, ``around``, ``by``, ``on`` or ``during``
  before it or without. Not ``after``, ``since`` or ``from step 40``, and not if several
  steps are named.
- *Present*: ``now``, ``right now``, ``nowadays``, ``today``, ``current``,
  ``currently``, ``at present``, ``presently``, ``these days``, ``at the moment``, ``at
  this moment``.
- *Before*, if no step is named: ``Where did she live before the mill?``, ``until the
  mill``, ``Before the mill, where did she live?``. ``before step 40`` names the step.
"""

import math
import re
from functools import lru_cache
from typing import NamedTuple

from mesa_memory.retrieval.bm25 import terms, words

_STEP = re.compile(
    r"\b(?:(?:at|in|around|by|on|during) +)?"
    r"(?<!after )(?<!since )(?<!from )step (\d+(?:\.\d+)?)\b",
    re.IGNORECASE,
)
_STEPS = re.compile(r"\bstep \d", re.IGNORECASE)
_PRESENT = re.compile(
    r"\b(?:(?:right )?now|nowadays|today|current(?:ly)?|at present|presently|these days"
    r"|at (?:the|this) moment)\b",
    re.IGNORECASE,
)
_BEFORE = re.compile(r"\b(?:before|until)\b", re.IGNORECASE)
#: a query without any of these words has no cues; one look spares it the patterns
_HINTS = {
    "step", "now", "nowadays", "today", "current", "currently", "present", "presently",
    "days", "moment", "before", "until",
}  # fmt: skip
#: longer texts are read each time they come and not kept in the cache
CACHED_QUERY_CHARS = 1000


class TimeConstraint(NamedTuple):
    """A question, read for time.

    Attributes:
        body: the question without its words of time, to be embedded; the whole question
            if nothing else is left.
        said: the words and numbers of the question, but those of ``before``.
        step: what it asks for is what was so at this step; None if no step is named.
        present: whether it asks for what is so now.
        before: the words for the end of the requested time; empty without any.
    """

    body: str
    said: tuple[str, ...]
    step: float | None = None
    present: bool = False
    before: tuple[str, ...] = ()

    @classmethod
    def of(cls, query: str) -> "TimeConstraint":
        """The cues of a question; the same object for the same text."""
        return _read(query) if len(query) > CACHED_QUERY_CHARS else _read_before(query)

    @classmethod
    def none(cls, query: str) -> "TimeConstraint":
        """The question taken as it is."""
        return cls(query, tuple(words(query)))


def _read(query: str) -> TimeConstraint:
    said = tuple(words(query))
    if _HINTS.isdisjoint(said):
        return TimeConstraint(query, said)
    main, ended = _split(query)
    step, limit = _step(query), _step(ended)
    if limit is not None:
        # At the latest time before that step: a model's clock may count in fractions.
        step, ended = math.nextafter(limit, -math.inf), ""
    elif step is not None:
        main, ended = query, ""
    body = main if step is None else _STEP.sub(" ", main)
    body = " ".join(_PRESENT.sub(" ", body).split())
    return TimeConstraint(
        body if words(body) else query,
        tuple(words(main)),
        step,
        bool(_PRESENT.search(main)),
        tuple(words(ended)),
    )


_read_before = lru_cache(maxsize=1000)(_read)


def _split(query: str) -> tuple[str, str]:
    """The question, and the event that ended the time in question."""
    found = _BEFORE.search(query)
    if not found:
        return query, ""
    main, ended = query[: found.start()], query[found.end() :]
    if not terms(main):  # Before this, what was that?
        ended, _, main = ended.partition(",")
    return (main, ended) if terms(main) and terms(ended) else (query, "")


def _step(text: str) -> float | None:
    named = _STEP.findall(text)
    only = len(named) == 1 == len(_STEPS.findall(text))
    return float(named[0]) if only else None
