"""One event loop in the background, for every request to a language model.

Every request runs in that loop, whatever thread asks, so that connections are shared
and one limit holds for all. The loop's thread is a daemon; what is still under way at
interpreter exit is joined first, see ``at_exit``.
"""

import asyncio
import atexit
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any


class BackgroundLoop:
    """An event loop in a thread of its own, started on first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def submit(self, work: Coroutine[Any, Any, Any]) -> Future:
        """Starts ``work`` in the loop."""
        return asyncio.run_coroutine_threadsafe(work, self._running())

    def here(self) -> bool:
        """True if the caller runs in the loop's own thread, and so must not wait."""
        return threading.current_thread() is self._thread

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._thread is None or not self._alive():
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="mesa-memory", daemon=True
                )
                self._thread.start()
            return self._loop

    def _alive(self) -> bool:
        """False in a forked child, where the thread did not come along."""
        return self._thread is not None and self._thread.is_alive()


background = BackgroundLoop()


def at_exit(function: Callable[[], None]) -> None:
    """Calls ``function`` at interpreter exit while threads can still be started.

    ``atexit`` alone is too late: by then name look-ups and new connections, which need
    the executor's threads, are refused.
    """
    getattr(threading, "_register_atexit", atexit.register)(function)
