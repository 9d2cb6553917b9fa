"""Compares calls, tokens and money with their limits."""

from collections.abc import Mapping
from typing import Any


def crossed(amount: Mapping[str, Any], limits: Mapping[str, Any]) -> str:
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
