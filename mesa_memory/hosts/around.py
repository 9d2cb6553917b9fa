"""A wrapper around a method of another package's object."""

import copy
from collections.abc import Callable
from typing import Any


class Around:
    """A callable in the place of an object's own one, which it calls.

    A copy of the object does not have it, since a copy is not watched.
    """

    def __init__(self, inner: Callable[..., Any]) -> None:
        self.inner = inner

    def __deepcopy__(self, memo: dict) -> Any:
        return copy.deepcopy(self.inner, memo)

    def __reduce__(self) -> tuple:
        return _same, (self.inner,)


def _same(inner: Any) -> Any:
    return inner
