"""One step of a model at a time, whichever window asks for it."""

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mesa_memory.recording.stephook import Around

_making = threading.Lock()
_models: weakref.WeakSet[Any] = weakref.WeakSet()


class InTurn(Around):
    """A model's ``step``, which lets nobody in while it runs."""

    def __init__(self, step: Callable[[], Any]) -> None:
        super().__init__(step)
        self.lock = threading.RLock()

    def __call__(self) -> None:
        """One step, as soon as no other one is running."""
        with self.lock:
            self.inner()


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
