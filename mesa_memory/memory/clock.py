"""The model's time."""

import math
from typing import Any


def clock(model: Any) -> float:
    """The model's time: ``model.steps``, or ``model.time`` where there are none."""
    steps = getattr(model, "steps", None)
    if type(steps) is int:
        return steps
    now = model.time if steps is None else steps
    return now if isinstance(now, int | float) and math.isfinite(now) else 0
