"""The similarity of the memories of several agents."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from mesa_memory.retrieval.bm25 import terms


def mean_jaccard(texts: Mapping[Any, Sequence[str]]) -> float:
    """The mean over all pairs of the share of words that both have, of the ones that
    one has.

    Words are stems without function words and numbers stand for themselves; Jaccard
    (1912), "The distribution of the flora in the alpine zone". Two agents who remember
    nothing agree in full; one who does and one who does not have nothing in common.

    Returns:
        0 to 1; NaN for fewer than two agents.
    """
    sets = [frozenset(terms("\n".join(said))) for said in texts.values()]
    if len(sets) < 2:
        return float("nan")
    places = {word: n for n, word in enumerate(sorted(frozenset().union(*sets)))}
    has = np.zeros((len(sets), len(places)), dtype=bool)
    for row, said in enumerate(sets):
        has[row, [places[word] for word in said]] = True
    return float(1 - pdist(has, "jaccard").mean())


def same_answers(answers: Sequence[Hashable]) -> float:
    """The share of pairs that give the same answer; NaN for fewer than two answers.

    Simpson (1949), "Measurement of diversity", for samples without replacement.
    """
    pairs = len(answers) * (len(answers) - 1) / 2
    if not pairs:
        return float("nan")
    return sum(one == other for one, other in combinations(answers, 2)) / pairs


def answers_of(model: Any, question: Callable[[Any], Any]) -> list[Any]:
    """The values of a function of each agent, without None."""
    found = [question(agent) for agent in model.agents]
    return [answer for answer in found if answer is not None]
