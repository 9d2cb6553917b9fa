"""What stands around a model's own step."""

import copy
from collections.abc import Callable
from typing import Any


class Around:
    """A callable in the place of a model's own one, which it calls.

    A copy of the model goes without it: it is another run, which nobody watches.
    """

    def __init__(self, inner: Callable[[], Any]) -> None:
        self.inner = inner

    def __deepcopy__(self, memo: dict) -> Any:
        return copy.deepcopy(self.inner, memo)

    def __reduce__(self) -> tuple:
        return _same, (self.inner,)


def _same(inner: Any) -> Any:
    return inner


class StepHook(Around):
    """A model's own step, and what follows it once it has ended well."""

    def __init__(self, inner: Callable[[], Any], then: Callable[[], None]) -> None:
        super().__init__(inner)
        self.then = then

    def __call__(self) -> None:
        """One step."""
        self.inner()
        self.then()
