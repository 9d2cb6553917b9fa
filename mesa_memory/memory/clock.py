"""The model's time."""

import math
from numbers import Integral, Real
from typing import Any


def clock(model: Any) -> float:
    """The model's time: ``model.steps``, or ``model.time`` where they do not move.

    Mesa's discrete event simulators move the time alone.
    """
    steps = getattr(model, "steps", None)
    if type(steps) is int and steps:
        return steps
    now = steps
    if steps is None or (type(steps) is int and getattr(model, "time", None)):
        now = model.time
    if not isinstance(now, Real) or not math.isfinite(now):
        return 0
    return int(now) if isinstance(now, Integral) else float(now)
