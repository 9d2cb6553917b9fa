"""Random numbers that stay paired between the arms of an experiment.

Each purpose has a generator of its own, made from its address alone. Its bits are those
of Philox, a function of a key and a counter (Salmon, Moraes, Dror and Shaw 2011, "Parallel
random numbers: as easy as 1, 2, 3"), and the key is a hash of the address. So a draw never
shifts the numbers of another purpose.
"""

import hashlib
import json
import math
from numbers import Integral, Real
from typing import Any

import numpy as np

from mesa_memory.errors import NoSeed
from mesa_memory.hosts import mesa

#: raised when the same address would give other numbers
ADDRESS_FORM = 1


def draw(agent: Any, purpose: str, step: float | None = None) -> np.random.Generator:
    """The random generator for one purpose of one agent at one step.

    It is made from its address alone: the model's seed, the agent's unique id, the purpose
    and the step. Other draws do not change it, and a resumed, forked or replayed run has
    the same generator, in any process. So two runs with one seed and different memories
    meet the same chances, even if one of them draws more often.

    The same address gives the same numbers from their beginning: take several numbers from
    one generator, or give each its own purpose.

    Args:
        agent: the agent, or the model for draws that concern no single agent.
        purpose: what the numbers are for, such as ``"meeting"``.
        step: None means now, by the model's clock (0 in a constructor). Another
            number is for draws made beforehand or independent of time.

    Returns:
        A numpy Generator (Philox), made for this caller.

    Raises:
        NoSeed: if the model does not say what its random numbers begin with: no Mesa
            model, or one whose ``super().__init__()`` has not run yet.
        TypeError: if the purpose is not text, or the unique id is not a number or text.
        ValueError: for an empty purpose, or a step that is not a finite number.

    Example:
        >>> from mesa import Model
        >>> model = Model(rng=42)
        >>> draw(model, "weather").random() == draw(model, "weather").random()
        True
    """
    if not isinstance(purpose, str):
        raise TypeError(f"purpose must be a text such as 'meeting', got {purpose!r}")
    if not purpose:
        raise ValueError("purpose must be a text such as 'meeting', got ''")
    one = hasattr(agent, "unique_id") and hasattr(agent, "model")
    model = agent.model if one else agent
    who = _unique_id(agent) if one else None
    start = mesa.first_state(model)
    if start is None:
        raise NoSeed(
            f"draw({type(agent).__name__}, {purpose!r}) needs the seed of a Mesa model, "
            f"but {type(model).__name__} lacks one: give an agent or its model, after the "
            "model's super().__init__(rng=seed)."
        )
    now = mesa.clock(model) if step is None else step
    if not isinstance(now, Real) or isinstance(now, bool) or not math.isfinite(now):
        raise ValueError(f"step must be a finite number or None for now, got {step!r}")
    address = [ADDRESS_FORM, start, who, purpose, float(now)]
    text = json.dumps(address, sort_keys=True, allow_nan=False, default=_plain)
    digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest, "little")))


def _plain(value: Any) -> Any:
    """Numpy's numbers and arrays, of which the state of a generator may be made."""
    return value.tolist()


def _unique_id(agent: Any) -> int | str:
    name = agent.unique_id
    if isinstance(name, Integral) and not isinstance(name, bool):
        return int(name)
    if isinstance(name, str):
        return name
    raise TypeError(
        f"the unique id of an agent that draws must be a number or a text, got {name!r}"
    )
