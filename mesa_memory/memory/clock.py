"""The model's time."""

import math
from numbers import Integral, Real
from typing import Any


def clock(model: Any) -> float:
    """The model's time: ``model.steps``, or ``model.time`` where there are none."""
    steps = getattr(model, "steps", None)
    if type(steps) is int:
        return steps
    now = model.time if steps is None else steps
    if not isinstance(now, Real) or not math.isfinite(now):
        return 0
    return int(now) if isinstance(now, Integral) else float(now)
