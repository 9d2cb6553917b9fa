"""Finds the recalled lines that a reply used, by shared words, without a model.

A line counts as used if enough of its distinctive words stand in the
reply. Each term weighs ``ln((n + 1) / df)``, with ``df`` of the ``n`` lines that have
it: what every line says, such as "says", tells nothing. The overlap is the weight of
the shared terms over the smaller weight of line and reply (the
Szymkiewicz-Simpson coefficient), so that neither a long reply nor a long line counts
against itself.
"""

import math
from collections import Counter
from collections.abc import Sequence

from mesa_memory.core.text.vocabulary import ENGLISH_WORDS

#: the overlap from which a line counts as used: the best F1 for replies that retell lines
#: in other words, 89 of 100, see ``benchmarks/recall/used.py``
MIN_OVERLAP = 0.45


def overlaps(lines: Sequence[str], reply: str) -> list[float]:
    """The share of each line that stands in a reply, from 0 to 1.

    Args:
        lines: what was shown together.
        reply: all that was said, arguments of tools included.
    """
    terms = ENGLISH_WORDS.terms
    said, own = set(terms(reply)), [set(terms(line)) for line in lines]
    having = Counter(term for line in own for term in line)

    def weight(some: set[str]) -> float:
        # In the order of the alphabet: a sum depends on its order in the last bits.
        return sum(math.log((len(own) + 1) / max(1, having[t])) for t in sorted(some))

    whole = weight(said)
    return [_share(weight(line & said), min(weight(line), whole)) for line in own]


def used(lines: Sequence[str], reply: str) -> list[bool]:
    """True for each line that a reply used."""
    return [overlap >= MIN_OVERLAP for overlap in overlaps(lines, reply)]


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
