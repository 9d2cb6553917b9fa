"""How counts grow from step to step: what a short run tells of a longer one.

Memories fill up, summaries are rewritten in cycles, conclusions come in bursts. So no one
curve fits all: several are fitted to the beginning of a series, judged by how well they
tell its end, and weighted by that.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

#: standard errors on each side of an interval of 90%: of Student's t with 7 degrees of
#: freedom, as few as a pilot of the fewest agents has
ERRORS = 1.895
#: shares of a series that the curves are fitted to when they are judged by the rest
JUDGED_AFTER = (0.7, 0.8, 0.9)
#: what counts of each of these judgements: the last one saw the most
JUDGED_BY = (0.1, 0.3, 0.6)
#: relative error that even the best curve is taken to have
LEAST_ERROR = 0.02
#: what is left of a trend after as many further steps as the series has
DAMPED = 0.25
#: share of a series, at its end, that a level and a trend are taken from
LEVEL, RECENT, TREND, DECAY = 1 / 3, 0.15, 0.4, 0.5
#: a period counts if the series is so much like itself that many steps before
ALIKE = 0.5


@dataclass(frozen=True)
class Sum:
    """A sum over steps, and its standard error."""

    value: float
    error: float

    @property
    def low(self) -> float:
        """The lower end of an interval of 90%, never below zero."""
        return max(self.value - ERRORS * self.error, 0.0)

    @property
    def high(self) -> float:
        """The upper end of an interval of 90%."""
        return self.value + ERRORS * self.error

    def __mul__(self, factor: float) -> "Sum":
        """Each step counted ``factor`` times."""
        return Sum(self.value * factor, self.error * factor)

    def __add__(self, other: "Sum") -> "Sum":
        """Both; errors add up, as they have the same causes."""
        return Sum(self.value + other.value, self.error + other.error)


def total(series: np.ndarray, steps: int) -> Sum:
    """The sum of a series over more steps than it has.

    Args:
        series: non-negative numbers, one for each step, oldest first.
        steps: how many steps the sum is over.
    """
    length = len(series)
    if steps <= length:
        return Sum(float(series[:steps].sum()), 0.0)
    if not series.any():
        return Sum(0.0, 0.0)
    weights, missed = _judged(series)
    ahead = np.array([curve(series, steps).sum() for curve, _ in CURVES])
    tail = float(weights @ ahead)
    spread = float(weights @ (ahead - tail) ** 2) ** 0.5
    return Sum(float(series.sum()) + tail, float(np.hypot(spread, missed * tail)))


def _judged(series: np.ndarray) -> tuple[np.ndarray, float]:
    """The weight of each curve, and their relative error where the series is known."""
    errors = np.zeros((len(JUDGED_AFTER), len(CURVES)))
    for row, share in enumerate(JUDGED_AFTER):
        cut = max(1, round(share * len(series)))
        after = float(series[cut:].sum())
        scale = max(after, float(series.mean()) * (len(series) - cut), 1e-12)
        for column, (curve, _) in enumerate(CURVES):
            told = float(curve(series[:cut], len(series)).sum())
            errors[row, column] = (told - after) / scale
    misses = np.sqrt(np.average(errors**2, axis=0, weights=JUDGED_BY))
    weights = np.array([prior for _, prior in CURVES]) / (misses**2 + LEAST_ERROR**2)
    weights /= weights.sum()
    squares = (errors @ weights) ** 2
    return weights, float(np.average(squares, weights=JUDGED_BY)) ** 0.5


def level(series: np.ndarray, steps: int) -> np.ndarray:
    """The mean of the end goes on."""
    end = _end(series, LEVEL)
    return np.full(steps - len(series), end.mean())


def recent(series: np.ndarray, steps: int) -> np.ndarray:
    """The mean of the last few steps goes on."""
    end = _end(series, RECENT)
    return np.full(steps - len(series), end.mean())


def trend(series: np.ndarray, steps: int) -> np.ndarray:
    """The straight line through the end goes on."""
    height, slope = _line(_end(series, TREND))
    return np.maximum(height + slope * np.arange(1, steps - len(series) + 1), 0.0)


def damped(series: np.ndarray, steps: int) -> np.ndarray:
    """The same line, ever flatter (Gardner and McKenzie 1985)."""
    height, slope = _line(_end(series, TREND))
    rate = DAMPED ** (1 / len(series))
    ahead = np.arange(1, steps - len(series) + 1)
    gone = rate * (1 - rate**ahead) / (1 - rate)
    return np.maximum(height + slope * gone, 0.0)


def decay(series: np.ndarray, steps: int) -> np.ndarray:
    """What falls goes on to fall by the same share; what does not stays level."""
    end = _end(series, DECAY)
    half = len(end) // 2
    before, after = float(end[:half].sum()), float(end[len(end) - half :].sum())
    if half < 2 or not 0 < after < before:
        return level(series, steps)
    rate = (after / before) ** (1 / (len(end) - half))
    ahead = np.arange(1, steps - len(series) + 1) + (half - 1) / 2
    return after / half * rate**ahead


def _end(series: np.ndarray, share: float) -> np.ndarray:
    """The end of a series, as long as whole periods are."""
    length = max(2, round(share * len(series)))
    period = _period(series[len(series) // 2 :])
    if period > 1:
        length = max(period, length // period * period)
    return series[-length:]


def _period(series: np.ndarray) -> int:
    """After how many steps a series repeats itself; 1 if it does not."""
    around = series - series.mean()
    power = float(around @ around)
    longest = len(series) // 2
    if power <= 0 or longest < 2:
        return 1
    alike = np.array(
        [
            float(around[lag:] @ around[:-lag])
            / power
            * len(series)
            / (len(series) - lag)
            for lag in range(1, longest + 1)
        ]
    )
    best = int(alike.argmax())
    return best + 1 if alike[best] > ALIKE else 1


def _line(end: np.ndarray) -> tuple[float, float]:
    """The height of a straight line at the last of its points, and its slope."""
    at = np.arange(len(end), dtype=float)
    middle = float(at.mean())
    slope = float(((at - middle) * end).sum() / ((at - middle) ** 2).sum())
    return float(end.mean()) + slope * (float(at[-1]) - middle), slope


#: each with its weight before anything is known
CURVES: tuple[tuple[Callable[[np.ndarray, int], np.ndarray], float], ...] = (
    (level, 1.0),
    (recent, 1.0),
    (damped, 0.5),
    (decay, 0.5),
    (trend, 0.25),
)
