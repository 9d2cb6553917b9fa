"""Whether somebody looks at the page that plays a model."""

import sys
import threading
from collections.abc import Callable
from typing import Any

from solara.util import CancelledError

#: seconds between two looks whether a page is back
LOOK = 0.1

_thread = threading.local()


def wait_for_viewer(over: Callable[[], bool]) -> None:
    """Waits while the page that plays from this thread is without a connection.

    It comes back at once where somebody looks at the page, and where no page plays: in a
    program, or in a notebook.

    Args:
        over: True if there is nothing to wait for any more.

    Raises:
        CancelledError: the page was closed; Solara ends the thread that plays with it.
    """
    session = _session()
    while session is not None and not over():
        if session.closed_event.is_set():
            raise CancelledError
        states = set(session.page_status.copy().values())
        if not states or _pages().PageStatus.CONNECTED in states:
            return
        session.closed_event.wait(LOOK)


def _session() -> Any:
    """The session to which this thread belongs, also when it has ended; None if none."""
    pages = _pages()
    if pages is None:
        return None
    if pages.has_current_context():
        # Solara takes it from the thread when the session ends.
        _thread.session = pages.get_current_context()
    return getattr(_thread, "session", None)


def _pages() -> Any:
    """Solara's sessions; None where its server does not run, as in a notebook."""
    return sys.modules.get("solara.server.kernel_context")
