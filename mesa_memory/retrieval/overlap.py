"""Finds the recalled lines that a reply used, by shared words, without a model.

A reply may be made of several lines, so each of its clauses is compared with each line. A
line counts as used if enough of its distinctive words stand in one clause. Each term
weighs ``ln((n + 1) / df)``, with ``df`` of the ``n`` lines that have it: what every line
says, such as "says", tells nothing. The overlap is the weight of the shared terms over
the smaller weight of line and clause (the Szymkiewicz-Simpson coefficient), so that
neither a long clause nor a long line counts against itself. A single shared term counts 0.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence

from mesa_memory.core.text.vocabulary import ENGLISH_WORDS

#: the overlap from which a line counts as used, see ``benchmarks/recall/used.py``
MIN_OVERLAP = 0.5
#: fewest terms that a line and a clause must share
MIN_TERMS = 2
#: what stands between two clauses: a comma, or the end of a sentence
_BETWEEN = re.compile(r"[.,;:!?]+(?:\s|$)|[。、，；：！？\n]|\s[-–—]\s")


def overlaps(lines: Sequence[str], reply: str) -> list[float]:
    """The share of each line that stands in a clause of a reply, from 0 to 1.

    Args:
        lines: what was shown together.
        reply: all that was said, arguments of tools included.
    """
    terms = ENGLISH_WORDS.terms
    clauses = [set(terms(clause)) for clause in _BETWEEN.split(reply)]
    own = [set(terms(line)) for line in lines]
    having = Counter(term for line in own for term in line)

    def weight(some: set[str]) -> float:
        # In the order of the alphabet: a sum depends on its order in the last bits.
        return sum(math.log((len(own) + 1) / max(1, having[t])) for t in sorted(some))

    def share(line: set[str], clause: set[str]) -> float:
        shared = line & clause
        whole = min(weight(line), weight(clause))
        return weight(shared) / whole if whole and len(shared) >= MIN_TERMS else 0.0

    return [
        max((share(line, clause) for clause in clauses), default=0.0) for line in own
    ]


def used(lines: Sequence[str], reply: str) -> list[bool]:
    """True for each line that a reply used."""
    return [overlap >= MIN_OVERLAP for overlap in overlaps(lines, reply)]
