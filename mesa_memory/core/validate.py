"""Checks of arguments: each returns the value, or raises with the reason."""

import math
from collections.abc import Collection, Mapping
from numbers import Integral, Real
from typing import Any


def checked_int(name: str, value: Any, least: int = 1) -> int:
    """A whole number of at least ``least``, as an int.

    Raises:
        ValueError: for anything else, also for True and 2.0.
    """
    fits = isinstance(value, Integral) and not isinstance(value, bool)
    if not fits or value < least:
        raise ValueError(f"{name} must be >= {least} and a whole number, got {value!r}")
    return int(value)


def checked_number(
    name: str, value: Any, least: float = 0.0, above: bool = False
) -> float | int:
    """A finite number of at least ``least``, or above it.

    Raises:
        ValueError: for anything else, also for True and NaN.
    """
    number = isinstance(value, Real) and not isinstance(value, bool)
    fits = number and (value > least if above else value >= least)
    if not fits or not math.isfinite(value):
        relation = "above" if above else ">="
        raise ValueError(f"{name} must be {relation} {least:g}, got {value!r}")
    return value  # type: ignore[return-value]


def one_of(name: str, known: Collection[str], value: Any) -> str:
    """One of the known words.

    Raises:
        ValueError: for anything else.
    """
    if value not in known:
        raise ValueError(f"{name} must be one of {known}, got {value!r}")
    return value


def check_model(model: Any) -> None:
    """Raises the reason if a value is not a Mesa model.

    Raises:
        TypeError: if it is not a Mesa model.
        ValueError: if its own ``__init__`` has not run yet.
    """
    if isinstance(model, type) or not hasattr(type(model), "step"):
        raise TypeError(
            f"this needs the Mesa model, got {model!r}: call configure(self, …) in "
            "the model's __init__, or configure(model, …)"
        )
    if hasattr(model, "agents"):
        return
    if hasattr(type(model), "agents"):
        raise ValueError(
            f"the {type(model).__name__} is not made yet: call configure(self, …) "
            "after super().__init__()"
        )
    if hasattr(model, "model"):
        raise TypeError(
            f"this needs the Mesa model, got {_agent(model)}: "
            "call configure(agent.model, …)"
        )


def check_agent(agent: Any, memory: str) -> None:
    """Raises the reason if a value is not the agent of a memory.

    Args:
        memory: name of the memory's class.

    Raises:
        TypeError: if it is not an agent of a model.
    """
    if hasattr(agent, "model") and hasattr(agent, "unique_id"):
        return
    kind = type(agent).__name__
    model = hasattr(type(agent), "agents")
    raise TypeError(
        f"{memory} needs the agent that it belongs to, got "
        f"{f'the model {kind}' if model else repr(agent)}: write "
        f"agent.memory = {memory}(agent), after the agent's super().__init__()"
    )


def _agent(agent: Any) -> str:
    return f"{type(agent).__name__} {getattr(agent, 'unique_id', '')}".rstrip()


def exceeded_limit(amount: Mapping[str, Any], limits: Mapping[str, Any]) -> str:
    """The first limit that an amount crosses, in words; empty if it crosses none.

    Args:
        amount: by name; None is unknown, which no limit allows.
        limits: the most of each, by name; None does not limit.
    """
    for name, limit in limits.items():
        if limit is None:
            continue
        value = amount[name]
        if value is None:
            return f"the price of a call is unknown, but {name}={limit}"
        if value > limit:
            return f"{name} {value:g} of {limit:g}"
    return ""
