"""Advisory locks of PostgreSQL: they last as long as the connection that took them."""

import time
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from mesa_memory.stores.leases import RunLocks

#: seconds in which the server notices that a killed process has closed its connection
GRACE_S = 0.5
#: seconds after which the server takes a silent machine for dead: 15 + 3 * 5
_KEEP_ALIVE = {"idle": 15, "interval": 5, "count": 3}
#: the table's own number tells apart the schemas of one database
_KEY = "(CAST(CAST('runs' AS regclass) AS oid)::bigint << 32) | :run"


class AdvisoryLocks(RunLocks):
    """The locks of the runs that one store writes, on a connection of their own."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._connection: sa.Connection | None = None
        self._held: set[int] = set()

    def acquire(self, run: int) -> bool:
        """See ``leases.RunLocks``."""
        try:
            on = self._connected()
        except DBAPIError:
            # The server has ended the connection, and with it all locks.
            self.close()
            on = self._connected()
        if run not in self._held:
            deadline = time.monotonic() + GRACE_S
            while not self._asked(on, "pg_try_advisory_lock", run):
                if time.monotonic() > deadline:
                    return False
                time.sleep(0.05)
            self._held.add(run)
        return True

    def release(self, run: int) -> None:
        """See ``leases.RunLocks``."""
        if run in self._held and self._connection is not None:
            self._held.remove(run)
            try:
                self._asked(self._connection, "pg_advisory_unlock", run)
            except DBAPIError:
                self.close()

    def close(self) -> None:
        """See ``leases.RunLocks``."""
        self._held.clear()
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected(self) -> sa.Connection:
        """The connection, after a look whether it still works."""
        if self._connection is None:
            on = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            # Closed with this object, and not put back into the pool with its locks.
            on.detach()
            self._connection = on
            for name, value in _KEEP_ALIVE.items():
                on.execute(sa.text(f"SET tcp_keepalives_{name} = {value}"))
        self._connection.execute(sa.text("SELECT 1"))
        return self._connection

    def _asked(self, on: sa.Connection, function: str, run: int) -> Any:
        return on.scalar(sa.text(f"SELECT {function}({_KEY})"), {"run": run})
