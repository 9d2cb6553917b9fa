"""One step of a model at a time, for all windows, and only while one is open."""

import threading
from collections.abc import Callable
from typing import Any

from mesa_memory.core.by_identity import ByIdentity
from mesa_memory.hosts import CallableWrapper, solara

#: seconds between two checks of the connection
CHECK_INTERVAL_S = 0.1

_thread = threading.local()
_making = threading.Lock()
_models: ByIdentity[bool] = ByIdentity()


class StepLock(CallableWrapper):
    """A model's ``step``, which runs once at a time, and only for a page with a viewer.

    Attributes:
        over: no more steps are made.
        page: what the pages of this model share, see ``PageRuns``; it goes with it.
        before: called before each step; None calls nothing.
        begun: the time of the model at which a page began to record it late; None if
            no page did.
    """

    def __init__(self, step: Callable[[], Any]) -> None:
        super().__init__(step)
        self.lock, self.over = threading.RLock(), False
        self.page: Any = None
        self.before: Callable[[], Any] | None = None
        self.begun: float | None = None

    def __call__(self) -> None:
        """One step, as soon as no other one is running; none once it is over.

        For a page that plays, it waits until the page is seen again.

        Raises:
            CancelledError: the page that asks for it was closed.
        """
        wait_for_viewer(lambda: self.over)
        with self.lock:
            if not self.over:
                if self.before is not None:
                    self.before()
                self.inner()


def take_turns(model: Any) -> None:
    """Has a model step once at a time; two windows may show the same one."""
    with _making:
        if not isinstance(model.step, StepLock):
            model.step = StepLock(model.step)
            _models.setdefault(model, True)


def locks(model: Any) -> list[StepLock]:
    """The locks around a model's step, outermost first; others may stand between them."""
    found, step = [], model.step
    while isinstance(step, CallableWrapper):
        if isinstance(step, StepLock):
            found.append(step)
        step = step.inner
    return found


def stop_all() -> None:
    """Ends the play of all models that take turns, after the steps that are running.

    A window that plays sleeps between two steps and then makes one more, so the lock
    refuses further steps.
    """
    with _making:
        models = _models.keys()
    for model in models:
        model.running = False
        take_turns(model)  # another step may have replaced it
        with model.step.lock:
            model.step.over = True


def wait_for_viewer(over: Callable[[], bool]) -> None:
    """Waits while the page that plays from this thread is without a connection.

    Returns at once while the page is seen, and in a program or a notebook.

    Args:
        over: ends the waiting if True.

    Raises:
        CancelledError: the page was closed; Solara ends the thread that plays with it.
    """
    viewer = session()
    while viewer is not None and not over():
        if solara.is_closed(viewer):
            raise solara.cancelled()
        if solara.is_seen(viewer):
            return
        solara.wait_closed(viewer, CHECK_INTERVAL_S)


def on_page() -> bool:
    """True if this thread belongs to a page; also where no server could tell."""
    return not solara.server_runs() or session() is not None


def session() -> Any:
    """The session to which this thread belongs, also when it has ended; None if none."""
    if not solara.server_runs():
        return None
    current = solara.current_session()
    if current is not None:
        # Solara takes it from the thread when the session ends.
        _thread.session = current
    return getattr(_thread, "session", None)
