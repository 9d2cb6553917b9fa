"""What follows each step of a model."""

import copy
from collections.abc import Callable
from typing import Any


class StepHook:
    """A model's own step, and what follows it once it has ended well.

    A copy of the model steps without it: it is another run.
    """

    def __init__(self, inner: Callable[[], Any], then: Callable[[], None]) -> None:
        self.inner, self.then = inner, then

    def __call__(self) -> None:
        """One step."""
        self.inner()
        self.then()

    def __deepcopy__(self, memo: dict) -> Any:
        return copy.deepcopy(self.inner, memo)

    def __reduce__(self) -> tuple:
        return _same, (self.inner,)


def _same(inner: Any) -> Any:
    return inner
