"""Reads the time that a question asks about, apart from its subject.

Its cues are those of the agent's language, see ``Vocabulary``; in English:

- *Step*: ``step 40``, with ``at``, ``in``, ``around``, ``by``, ``on`` or ``during``
  before it or without. Not ``after``, ``since`` or ``from step 40``, and not if several
  steps are named.
- *Present*: ``now``, ``today``, ``currently``, ``these days``, ``at the moment``, ….
- *Before*, if no step is named: ``Where did she live before the mill?``, ``until the
  mill``, ``Before the mill, where did she live?``. ``before step 40`` names the step.
"""

import math
from functools import lru_cache
from typing import NamedTuple

from mesa_memory.core.text.vocabulary import ENGLISH_WORDS, Vocabulary, words

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
    def of(cls, query: str, known: Vocabulary = ENGLISH_WORDS) -> "TimeConstraint":
        """The cues of a question; the same object for the same text."""
        read = _read if len(query) > CACHED_QUERY_CHARS else _read_before
        return read(query, known)

    @classmethod
    def none(cls, query: str, known: Vocabulary = ENGLISH_WORDS) -> "TimeConstraint":
        """The question taken as it is."""
        return cls(query, tuple(words(query)))


def _read(query: str, known: Vocabulary) -> TimeConstraint:
    main, ended = _split(query, known)
    step, limit = _step(query, known), _step(ended, known)
    if limit is not None:
        # At the latest time before that step: a model's clock may count in fractions.
        step, ended = math.nextafter(limit, -math.inf), ""
    elif step is not None:
        main, ended = query, ""
    body = main if step is None else known.step.sub(" ", main)
    body = " ".join(known.now.sub(" ", body).split())
    return TimeConstraint(
        body if words(body) else query,
        tuple(words(main)),
        step,
        bool(known.now.search(main)),
        tuple(words(ended)),
    )


_read_before = lru_cache(maxsize=1000)(_read)


def _split(query: str, known: Vocabulary) -> tuple[str, str]:
    """The question, and the event that ended the time in question."""
    found = known.before.search(query)
    if not found:
        return query, ""
    parts = query[: found.start()], query[found.end() :]
    ended, main = parts if known.event_first else parts[::-1]
    if not known.terms(main):  # Before this, what was that?
        ended, _, main = ended.partition(",")
    whole = known.terms(main) and known.terms(ended)
    return (main, ended) if whole else (query, "")


def _step(text: str, known: Vocabulary) -> float | None:
    named = known.step.findall(text)
    only = len(named) == 1 == len(known.steps.findall(text))
    return float(named[0]) if only else None
