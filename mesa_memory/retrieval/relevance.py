"""Relevance of records: cosine and BM25 as one number, with their neighbours'.

``(1 - share) · min_max(cosine) + share · min_max(BM25)``, plus shares of this mix for the
record before and the one after, if they belong together (see ``dialogue``).
"""

import numpy as np

from mesa_memory.retrieval.scoring import TIE_TOLERANCE, min_max

#: rows that are widened to double precision at a time; they fit a cache
BLOCK_ROWS = 512


def cosines(rows: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """The inner product of each row with a vector, summed in double precision.

    In single precision the last digits would depend on the rows beside a row, and a
    resumed run has other rows there.

    Args:
        rows: shape (n, dim), float32, each of length 1 or zero.
        vector: shape (dim,), float32.

    Returns:
        Shape (n,), float64.
    """
    found, long = np.empty(len(rows)), vector.astype(float)
    for start in range(0, len(rows), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        found[block] = rows[block].astype(float) @ long
    return found


def relevance_of(
    dense: np.ndarray,
    lexical: np.ndarray,
    share: float,
    joined: np.ndarray | None = None,
    neighbours: tuple[float, float] = (0.0, 0.0),
) -> np.ndarray:
    """Relevance of each candidate, all in order of arrival.

    Args:
        dense, lexical: cosine and BM25 of each.
        share: that of BM25; with 0, relevance is the cosine as it is.
        joined: for each but the first, 1 if it belongs to the one before, else 0; None
            if none does.
        neighbours: shares of the one before and of the one after.

    Returns:
        A new array.
    """
    mixed = dense
    if share:
        low, high = float(dense.min()), float(dense.max())
        flat = not high - low > TIE_TOLERANCE
        mixed = np.zeros_like(dense)
        if not flat:
            mixed = (dense - low) * ((1 - share) / (high - low))
        mixed += min_max(lexical.astype(dense.dtype, copy=False), top=share)
    found = mixed.copy()
    if joined is not None:
        before, after = neighbours
        found[1:] += joined * mixed[:-1] * before
        found[:-1] += joined * mixed[1:] * after
    return found
