"""Connections to servers, kept for the next request of anybody in the process.

Event loops have connections of their own, as have child processes.
"""

import asyncio
import atexit
from contextlib import suppress
from typing import Any

import aiohttp

from mesa_memory.core.at_fork import at_fork

#: seconds that a connection stays open between two requests
KEEPALIVE_S = 60.0
#: seconds for which the address of a name is remembered
DNS_CACHE_S = 300
#: seconds for closing connections when the program ends
CLOSING_S = 1.0
_NO_TIMEOUT = aiohttp.ClientTimeout(total=None)


class Connections:
    """One session for each event loop; how many requests there are, others decide."""

    def __init__(self) -> None:
        self._sessions: dict[asyncio.AbstractEventLoop, aiohttp.ClientSession] = {}

    def session(self) -> aiohttp.ClientSession:
        """The session of the running event loop, made on first use."""
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None or session.closed:
            for ended in [other for other in self._sessions if other.is_closed()]:
                self._sessions.pop(ended).detach()
            session = self._sessions[loop] = aiohttp.ClientSession(
                connector=_Connector(
                    limit=0, keepalive_timeout=KEEPALIVE_S, ttl_dns_cache=DNS_CACHE_S
                ),
                timeout=_NO_TIMEOUT,
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return session

    def close(self) -> None:
        """Closes all while their event loops still run."""
        for loop, session in self._sessions.items():
            if loop.is_running():
                closing = asyncio.run_coroutine_threadsafe(session.close(), loop)
                with suppress(TimeoutError):  # the process ends anyway
                    closing.result(CLOSING_S)
            else:
                session.detach()
        self._sessions.clear()

    def forked(self) -> None:
        """In a child process: leaves all to the parent."""
        for session in self._sessions.values():
            session.detach()
        self._sessions.clear()


class _Connector(aiohttp.TCPConnector):
    """Connections that are closed together, or by the system.

    Those of a parent process must not be closed in its child, which shares the parent's
    event loop; those of an event loop that has ended cannot be.
    """

    def __del__(self, *_: Any) -> None:
        """Says nothing of them."""


connections = Connections()
at_fork(after_in_child=connections.forked)
atexit.register(connections.close)
