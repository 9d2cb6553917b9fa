"""A term of a score that a user adds to relevance, importance and recency.

A term gives each record a number; its weight times that number is added to the
record's score. It counts in ``recall``, in ``explain``, in what is recorded and in the
dashboard like the parts that are always there.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mesa_memory.core.records import MemoryRecord

#: the parts of every score, and the other columns of a recorded recall
RESERVED_NAMES = frozenset({
    "relevance", "importance", "recency", "time_match", "dense", "lexical", "id", "rank",
    "score", "shown", "used", "text", "step", "agent", "layer", "seq", "purpose", "query",
    "kind", "was", "change", "budget",
})  # fmt: skip


class RecallQuery(NamedTuple):
    """The query and the clock of a recall.

    Attributes:
        query: the text to find memories for; None if importance and recency count
            alone.
        now: the model's clock.
    """

    query: str | None
    now: float


class Term(ABC):
    """One term of a score; a subclass has a ``name`` and says what a record is worth.

    What it says must follow from the record, the question and the term's own
    attributes alone, so that a run can be repeated.

    Args:
        weight: what a value of 1 adds to a score; 0 or more. 0 turns the term off.

    Attributes:
        name: the term's name among the parts of a score: letters, digits and
            underscores, and not the name of a part that there is already.

    Raises:
        ValueError: for a weight that is negative or not finite.
    """

    name: str

    def __init__(self, weight: float = 1.0) -> None:
        if not 0 <= weight < math.inf:  # written so that NaN is refused, too
            raise ValueError(f"a term's weight must be 0 or more, got {weight}")
        self.weight = weight

    def __init_subclass__(cls, **given: Any) -> None:
        """Checks the name at once.

        Raises:
            TypeError: if the name of the class is not usable.
        """
        super().__init_subclass__(**given)
        name = getattr(cls, "name", None)
        if (
            not isinstance(name, str)
            or not name.isidentifier()
            or name in RESERVED_NAMES
        ):
            raise TypeError(
                f"{cls.__name__}.name must be a word of letters, digits and "
                f"underscores that no other part of a score has, got {name!r}. "
                f'Write, for example, name = "{cls.__name__.lower()}_term".'
            )

    @abstractmethod
    def value(self, record: MemoryRecord, question: RecallQuery) -> float:
        """The value of a record for a question, usually 0 to 1; a finite number."""

    def values(
        self, records: Sequence[MemoryRecord], question: RecallQuery
    ) -> np.ndarray | Sequence[float]:
        """``value`` of each record, in order; override it to reckon with arrays."""
        return [self.value(record, question) for record in records]


def checked_terms(terms: Any) -> tuple[Term, ...]:
    """Terms with names of their own, as a tuple.

    Raises:
        TypeError: if one is not a ``Term``.
        ValueError: if two have the same name.
    """
    several = (terms,) if isinstance(terms, Term) else tuple(terms)
    for term in several:
        if not isinstance(term, Term):
            raise TypeError(
                f"terms must be objects of subclasses of mesa_memory.retrieval.Term, got {term!r}"
            )
    names = [term.name for term in several]
    if len(set(names)) < len(names):
        raise ValueError(f"each term of a scoring needs a name of its own, got {names}")
    return several


def term_part(
    term: Term, records: Sequence[MemoryRecord], question: RecallQuery
) -> np.ndarray:
    """The values of a term, shape (records,), checked.

    Raises:
        ValueError: if they are not one finite number for each record.
    """
    given = term.values(records, question)
    try:
        part = np.array(given, dtype=float)
    except (TypeError, ValueError):
        part = np.zeros(0)
    if part.shape != (len(records),):
        raise ValueError(
            f"the term {term.name!r} must give a number for each of {len(records)} "
            f"records, got {given!r:.200}"
        )
    wrong = np.flatnonzero(~np.isfinite(part))
    if len(wrong):
        where = records[wrong[0]]
        raise ValueError(
            f"the term {term.name!r} must give finite numbers, got {part[wrong[0]]} for "
            f"the record {where.id!r}"
        )
    return part
