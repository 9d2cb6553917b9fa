"""One step of a model at a time, whichever window asks for it."""

import copy
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_making = threading.Lock()
_models: weakref.WeakSet[Any] = weakref.WeakSet()


class InTurn:
    """A model's ``step``, which lets nobody in while it runs.

    A copy of the model steps without it, as nobody else can see the copy.
    """

    def __init__(self, step: Callable[[], Any]) -> None:
        self.inner, self.lock = step, threading.RLock()

    def __call__(self) -> None:
        """One step, as soon as no other one is running."""
        with self.lock:
            self.inner()

    def __deepcopy__(self, memo: dict) -> Any:
        return copy.deepcopy(self.inner, memo)

    def __reduce__(self) -> tuple:
        return _same, (self.inner,)


def _same(inner: Any) -> Any:
    return inner


def take_turns(model: Any) -> None:
    """Has a model step once at a time; two windows may show the same one."""
    with _making:
        if not isinstance(model.step, InTurn):
            model.step = InTurn(model.step)
            _models.add(model)


@contextmanager
def stopped(model: Any) -> Iterator[None]:
    """Ends the running step of a model and its play; meanwhile no other one begins."""
    model.running = False
    take_turns(model)
    with model.step.lock:
        yield


def stop_all() -> None:
    """Ends the play of all models that take turns, after the steps that are running."""
    for model in list(_models):
        with stopped(model):
            pass  # its step has ended
