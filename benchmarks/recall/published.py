"""The memory stream as published, computed with numpy alone, as a row to compare with.

``stream`` is the formula of Park et al. (2023, section 4.1): recency, importance and
relevance, each brought to 0..1 over all memories by min-max, are added up with weights
of 1. Recency is ``0.995 ** age``, where one step counts as the paper's hour, and
relevance is the cosine. The paper does not say what a part is that is equal for all;
here it is 0.

``released`` is what their released code does instead (``retrieve.py``): recency is
``0.99 ** place``, where place 1 goes to the memory that was accessed longest ago, so the
oldest count as the newest; the weights of recency, relevance and importance are 0.5, 3
and 2; a part that is equal for all is 0.5.

Neither shares code with the package. Being recalled does not count as an access here.
"""

from typing import Any

import numpy as np

from benchmarks.recall.corpus import Ask, Corpus

DECAY = 0.995
DECAY_BY_PLACE = 0.99
#: recency, relevance, importance
RELEASED_WEIGHTS = (0.5, 3.0, 2.0)
#: an event without a grade: the middle of the scale from 1 to 5
UNGRADED = 3.0


def normal(values: np.ndarray, flat: float) -> np.ndarray:
    """Min-max over all; ``flat`` if they are equal."""
    low, high = float(np.min(values)), float(np.max(values))
    if high == low:
        return np.full(len(values), flat)
    return (values - low) / (high - low)


def cosines(vectors: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Of each row with the vector; 0 for a row of zeros."""
    rows, one = vectors.astype(np.float64), vector.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(one)
    return np.divide(rows @ one, lengths, out=np.zeros(len(rows)), where=lengths > 0)


def stream(corpus: Corpus, embedder: Any) -> Ask:
    """Ranks by the formula of the paper."""
    vectors = embedder.embed([item.text for item in corpus.items])
    steps = np.array([item.step for item in corpus.items], dtype=float)
    recency = normal(DECAY ** (corpus.now - steps), 0.0)
    importance = normal(_grades(corpus), 0.0)
    ids = [item.id for item in corpus.items]

    def ask(question: str) -> list[str]:
        relevance = normal(cosines(vectors, embedder.embed([question])[0]), 0.0)
        return _ordered(recency + importance + relevance, ids)

    return ask


def released(corpus: Corpus, embedder: Any) -> Ask:
    """Ranks as the released code does."""
    vectors = embedder.embed([item.text for item in corpus.items])
    steps = [item.step for item in corpus.items]
    longest_ago = sorted(range(len(steps)), key=steps.__getitem__)
    decayed = np.empty(len(steps))
    decayed[longest_ago] = DECAY_BY_PLACE ** np.arange(1.0, len(steps) + 1)
    for_recency, for_relevance, for_importance = RELEASED_WEIGHTS
    constant = for_recency * normal(decayed, 0.5)
    constant += for_importance * normal(_grades(corpus), 0.5)
    ids = [item.id for item in corpus.items]

    def ask(question: str) -> list[str]:
        relevance = normal(cosines(vectors, embedder.embed([question])[0]), 0.5)
        return _ordered(constant + for_relevance * relevance, ids)

    return ask


def _grades(corpus: Corpus) -> np.ndarray:
    grades = [UNGRADED if i.grade is None else i.grade for i in corpus.items]
    return np.array(grades, dtype=float)


def _ordered(scores: np.ndarray, ids: list[str]) -> list[str]:
    # Equal scores stay in the order of arrival.
    return [ids[place] for place in np.argsort(-scores, kind="stable")]


PUBLISHED = {"paper": stream, "released_code": released}
