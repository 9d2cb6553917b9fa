"""What stands around a model's own step."""

import copy
import weakref
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


class StepGuard(Around):
    """A model's own step; when it has failed, the model can take the next one.

    Mesa 3.5.1 plans a step only once the one before has ended well: after an error,
    ``model.step()`` moves the clock and silently does nothing else, for ever.

    Args:
        inner: the model's own step.
        model: is held weakly.
        failed: called after an error.
    """

    def __init__(
        self,
        inner: Callable[[], Any],
        model: Any,
        failed: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(inner)
        self._model, self._failed = weakref.ref(model), failed

    def __call__(self) -> None:
        """One step."""
        try:
            self._take()
        except BaseException:  # Ctrl-C, too: in a notebook, the model stays
            _plan_next(self._model())
            self._failed()
            raise

    def _take(self) -> None:
        self.inner()


class StepHook(StepGuard):
    """A model's own step, and what follows it once it has ended well."""

    def __init__(
        self, inner: Callable[[], Any], model: Any, then: Callable[[], None]
    ) -> None:
        super().__init__(inner, model)
        self.then = then

    def _take(self) -> None:
        self.inner()
        self.then()


def guard(model: Any, failed: Callable[[], None]) -> None:
    """Lets a model go on after a step that has failed; again changes nothing.

    Args:
        failed: called after each such step.
    """
    own = getattr(model, "__dict__", {}).get("_user_step")
    if own is not None and not isinstance(own, StepGuard):
        model._user_step = StepGuard(own, model, failed)


def _plan_next(model: Any) -> None:
    schedule = getattr(model, "_default_schedule", None)
    if schedule is not None and schedule.is_active:
        schedule.pause()  # what is planned already shall not come twice
        schedule.resume()
