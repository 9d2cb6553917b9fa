"""Waits for a viewer of the page that plays a model."""

import threading
from collections.abc import Callable
from typing import Any

from mesa_memory.hosts import solara

#: seconds between two checks of the connection
CHECK_INTERVAL_S = 0.1

_thread = threading.local()


def wait_for_viewer(over: Callable[[], bool]) -> None:
    """Waits while the page that plays from this thread is without a connection.

    Returns at once while the page is seen, and in a program or a notebook.

    Args:
        over: ends the waiting if True.

    Raises:
        CancelledError: the page was closed; Solara ends the thread that plays with it.
    """
    session = _session()
    while session is not None and not over():
        if solara.is_closed(session):
            raise solara.cancelled()
        if solara.is_seen(session):
            return
        solara.wait_closed(session, CHECK_INTERVAL_S)


def _session() -> Any:
    """The session to which this thread belongs, also when it has ended; None if none."""
    if not solara.server_runs():
        return None
    session = solara.current_session()
    if session is not None:
        # Solara takes it from the thread when the session ends.
        _thread.session = session
    return getattr(_thread, "session", None)
