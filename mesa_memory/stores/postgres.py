"""Runs in PostgreSQL; many processes may write at once."""

import time
from importlib.util import find_spec
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError

import mesa_memory.stores.schema as schema
from mesa_memory.core.text import redaction
from mesa_memory.errors import MissingExtra, StoreError, StoreUnavailable
from mesa_memory.stores.base import Options
from mesa_memory.stores.leases import RunLocks
from mesa_memory.stores.schema import json_text
from mesa_memory.stores.sql import Store

#: seconds in which the server notices that a killed process has closed its connection
GRACE_S = 0.5
#: seconds after which the server takes a silent machine for dead: 15 + 3 * 5
_KEEP_ALIVE = {"idle": 15, "interval": 5, "count": 3}
#: the table's own number tells apart the schemas of one database
_KEY = "(CAST(CAST('runs' AS regclass) AS oid)::bigint << 32) | :run"


class PostgresStore(Store):
    """A store in a PostgreSQL database, in the schema that ``search_path`` names."""

    def __init__(self, url: sa.URL, options: Options) -> None:
        redaction.learn_named({**url.query, "password": url.password})
        said = {key: "***" for key in url.query if redaction.secret_name(key)}
        location = url.update_query_dict(said).render_as_string(hide_password=True)
        engine = sa.create_engine(
            url,
            pool_pre_ping=True,  # the server may have been started anew
            connect_args={"connect_timeout": 10},
            json_serializer=json_text,
        )
        super().__init__(engine, location, options, AdvisoryLocks(engine))
        sa.event.listen(engine, "connect", self._set_up)

    def _set_up(self, connection: Any, _: Any) -> None:
        wait = max(1, round(self.options.timeout * 1000))
        with connection.cursor() as cursor:
            cursor.execute(f"SET lock_timeout = {wait}")
            if self.read_only:
                cursor.execute("SET default_transaction_read_only = on")
        connection.commit()

    def prepare(self) -> None:
        """Makes the tables in a new database; checks those of another."""
        with self.reading() as on:
            missing = _missing(on)
        if missing and self.read_only:
            raise StoreUnavailable(
                "it does not contain a recorded run.", location=self.location
            )
        if missing:
            with self.writing() as on:
                # Others may want to do the same at this moment.
                lock = sa.func.pg_advisory_xact_lock(schema.APPLICATION_ID)
                on.execute(sa.select(lock))
                if _missing(on):
                    self._create(on)
        self.check_schema()

    def _create(self, on: sa.Connection) -> None:
        taken = set(sa.inspect(on).get_table_names()) & set(schema.metadata.tables)
        if taken:
            raise StoreError(
                f"this database has tables of another application with our names: "
                f"{', '.join(sorted(taken))}. Use another database, or another schema: "
                "…?options=-csearch_path%3Dname. Nothing was changed.",
                location=self.location,
            )
        self.create_tables(on)


class AdvisoryLocks(RunLocks):
    """The locks of the runs that one store writes, on a connection of their own.

    Advisory locks last as long as the connection that took them.
    """

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


def open_postgres(address: str, options: Options) -> PostgresStore:
    """Opens a database; see ``mesa_memory.stores.open_store``."""
    if find_spec("psycopg") is None:
        raise MissingExtra("psycopg", "postgres")
    try:
        url = sa.make_url(address.replace("postgres://", "postgresql://", 1))
    except (ArgumentError, ValueError) as error:
        raise ValueError(
            f"{address.rpartition('@')[2]!r} is not the address of a database; write "
            "'postgresql+psycopg://user:password@host:5432/database'"
        ) from error
    return PostgresStore(url.set(drivername="postgresql+psycopg"), options)


def _missing(on: sa.Connection) -> bool:
    """True if the database does not contain our tables."""
    return "schema_version" not in sa.inspect(on).get_table_names()
