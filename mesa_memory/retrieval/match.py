"""The match of the best recalled record with the query, on an absolute scale.

A score ranks: its parts are relative to the candidates, so the best record of a memory
that knows nothing of the matter has a high score, too. The match of a record is

    z + 5 · words

``z`` is its cosine in standard deviations above the mean of all candidates, 0 if the
query was not embedded. ``words`` is the share of the query's terms, weighted by rarity,
that the record has; in a query of several lines, such as the messages of a step, the
line with the largest share counts. The ten best are judged; if the query names agents,
only records by or about them.

A recall is weak if no record reaches ``MIN_MATCH``, or ``MIN_MATCH_IN_TALK`` if it is part
of a talk. A talk keeps to a few subjects, so chance matches are closer there. With the
shipped embedder, these mark a tenth of the questions whose answer was found, see
``benchmarks/recall/unanswered.py``.
"""

import math

import numpy as np

#: the records that are judged
JUDGED_RECORDS = 10
WORDS_WEIGHT = 5.0
MIN_MATCH, MIN_MATCH_IN_TALK = 2.2, 4.3


def best_match(
    dense: np.ndarray, judged: np.ndarray, words: np.ndarray, talking: np.ndarray
) -> float:
    """The highest match above the threshold; below 0, nothing fits.

    Args:
        dense: the cosines of all candidates; all 0 if the query was not embedded.
        judged: positions of the judged records.
        words: for each of these, the share of the query's terms, 0 to 1.
        talking: for each of these, whether it is part of a talk.
    """
    if not len(judged):
        return -math.inf
    beyond = dense - dense.sum() / len(dense)
    spread = math.sqrt(np.square(beyond).sum() / len(dense))
    z = beyond[judged] / spread if spread else 0.0
    least = np.where(talking, MIN_MATCH_IN_TALK, MIN_MATCH)
    return float((z + WORDS_WEIGHT * words - least).max())
