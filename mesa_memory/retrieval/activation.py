"""Base-level activation: how readily a record is recalled, by how often and when it was met.

    B = ln(sum of age ** -decay over its presentations)

A presentation is the arrival of a record, and each later step in which it was recalled;
ages are in seconds (Anderson and Schooler 1991). The ten newest presentations are kept;
older ones count as if they were spread evenly since the arrival (Petrov 2006).

This formula alone has no spacing effect. With ``spacing`` above 0, a presentation decays
the faster the more active the record was when it came: its own decay is ``decay`` +
``spacing`` times e ** B of that moment (Pavlik and Anderson 2005).
"""

from collections.abc import Sequence

import numpy as np

#: so many presentations of a record are kept
KEPT = 10
#: age in steps of what happened in the step under way
NEWEST_AGE = 0.5


def activations(
    presented: Sequence[tuple[float, Sequence[float]]],
    now: float,
    unit: float,
    decay: float,
    spacing: float = 0.0,
) -> np.ndarray:
    """The base-level activation of each record.

    Args:
        presented: of each record the step of its arrival and ``later_ones``.
        now: the clock.
        unit: seconds of a step.
        decay, spacing: see above.
    """
    steps, before = np.full((2, len(presented), KEPT), -np.inf)
    counts, first = np.ones(len(presented)), np.zeros(len(presented))
    for row, (arrival, later) in enumerate(presented):
        first[row], counts[row] = arrival, later[0] if later else 1
        kept = later[1:] if later else (arrival, 0.0)
        steps[row, : len(kept) // 2] = kept[::2]
        before[row, : len(kept) // 2] = kept[1::2]
    known = steps > -np.inf
    rates = decay + spacing * np.where(known, before, 0.0)
    ages = np.maximum(now - np.where(known, steps, now), NEWEST_AGE) * unit
    total = np.where(known, ages**-rates, 0.0).sum(axis=1)
    many = counts > KEPT
    if many.any():
        oldest, nearest = np.maximum(now - first, NEWEST_AGE) * unit, ages[:, 0]
        rest = 1 - rates.mean(axis=1)
        spread = (oldest**rest - nearest**rest) / rest
        spread /= np.maximum(oldest - nearest, unit / KEPT)
        total[many] += ((counts - KEPT) * spread)[many]
    return np.log(total)


def later_ones(
    arrival: float, later: Sequence[float], now: float, activation: float
) -> list[float]:
    """The presentations of a record with one more.

    Args:
        later: their number, then the step of each kept one, oldest first, and e ** B of
            that moment; empty if only the arrival counts.
        now: the step of the new one; a step counts once.
        activation: the record's, before it.
    """
    kept = list(later) or [1.0, arrival, 0.0]
    if now <= kept[-2]:
        return list(later)
    newest = [*kept[1:], now, float(np.exp(activation))][-2 * KEPT :]
    return [kept[0] + 1, *newest]


def moved(accessed: float | list[float], later: float) -> float | list[float]:
    """An access, or the presentations of a record, so many steps later."""
    if not isinstance(accessed, list):
        return accessed + later
    shifted = (accessed[n] + later * (n % 2) for n in range(len(accessed)))
    return list(shifted)


def not_recalled(score: float, least: float) -> str:
    """What is said of a record whose score is below the threshold."""
    return f"not recalled: {least - score:.2f} below the threshold"
