"""The match of the best recalled record with the query, on an absolute scale.

A score ranks: its parts are relative to the candidates, so the best record of a memory
that knows nothing of the matter has a high score, too. The ten best records are judged;
if the query names agents, only those of them by or about them. The match is

    z + 4.5 · words

``z`` is the mean of their three highest cosines, of fewer among less than 30 candidates, in
standard deviations above the mean of all candidates; 0 if the query was not embedded. ``words`` is the highest share of the
query's terms, weighted by rarity, that one of them has, or its session if it is part of
a talk. In a query of several lines, such as the messages of a step, the line with the
largest share counts.

A recall is weak if the match is below ``MIN_MATCH``, or ``MIN_MATCH_IN_TALK`` with the
words of a talk: a talk keeps to a few subjects, so cosines by chance are higher there.
With the shipped embedder, these mark a tenth of the questions whose answer was found, see
``benchmarks/recall/unanswered.py``.
"""

import math

import numpy as np

#: the records that are judged
JUDGED_RECORDS = 10
#: the mean of so many cosines counts
HIGHEST_COSINES = 3
WORDS_WEIGHT = 4.5
MIN_MATCH, MIN_MATCH_IN_TALK = 1.8, 4.725


def best_match(
    dense: np.ndarray, judged: np.ndarray, words: np.ndarray, talking: np.ndarray
) -> float:
    """The match above its threshold; below 0, nothing fits.

    Args:
        dense: the cosines of all candidates; all 0 if the query was not embedded.
        judged: positions of the judged records.
        words: for each of these, the share of the query's terms in it or in its session.
        talking: for each of these, whether it is part of a talk.
    """
    if not len(judged):
        return -math.inf
    beyond = dense - dense.sum() / len(dense)
    spread = math.sqrt(np.square(beyond).sum() / len(dense))
    few = min(HIGHEST_COSINES, max(len(dense) // 10, 1))
    highest = np.sort(beyond[judged])[-few:]
    z = highest.mean() / spread if spread else 0.0
    least = np.where(talking & (spread > 0), MIN_MATCH_IN_TALK, MIN_MATCH)
    return float(z + (WORDS_WEIGHT * words - least).max())
