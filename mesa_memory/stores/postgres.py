"""Runs in PostgreSQL; many processes may write at once."""

from importlib.util import find_spec
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError

import mesa_memory.stores.schema as schema
from mesa_memory.core.text import redaction
from mesa_memory.errors import MissingExtra, StoreError, StoreUnavailable
from mesa_memory.stores.base import Options
from mesa_memory.stores.columns import json_text
from mesa_memory.stores.postgres_locks import AdvisoryLocks
from mesa_memory.stores.sql import Store


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
