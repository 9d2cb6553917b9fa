"""The schema version of a store: written into a new one, checked in an existing one."""

import sqlalchemy as sa

from mesa_memory.errors import StoreCorrupt, StoreTooNew
from mesa_memory.stores import schema
from mesa_memory.stores.sql import SqlStore


def create(on: sa.Connection) -> None:
    """Makes every table in an empty database."""
    schema.metadata.create_all(on, checkfirst=False)
    on.execute(sa.text(schema.view(on.dialect.name)))
    on.execute(
        sa.insert(schema.schema_version).values(
            application=schema.APPLICATION, version=schema.VERSION
        )
    )


def check(store: SqlStore) -> None:
    """Checks a store's version and tables; changes nothing.

    Raises:
        StoreCorrupt: if it has no version, or a table lacks a column.
        StoreTooNew: if a newer version of this package wrote it.
    """
    with store.reading() as on:
        query = sa.select(schema.schema_version.c.version)
        found = on.scalar(query.filter_by(application=schema.APPLICATION))
        _check_version(found, store.location)
        for table in schema.metadata.sorted_tables:
            look = sa.text(f"SELECT * FROM {table.name} LIMIT 0")  # noqa: S608
            have = set(on.execute(look).keys())
            if lacking := set(table.columns.keys()) - have:
                raise StoreCorrupt(
                    f"the table {table.name} has no {', '.join(sorted(lacking))}. The "
                    "file was changed or damaged; restore a backup.",
                    location=store.location,
                )


def _check_version(found: int | None, location: str) -> None:
    if found is None or found < schema.VERSION:
        raise StoreCorrupt(
            f"its schema version is {found!r}, but every version of mesa-memory writes "
            f"at least {schema.VERSION}. Restore a backup.",
            location=location,
        )
    if found > schema.VERSION:
        raise StoreTooNew(
            f"has schema version {found}; this mesa-memory reads up to "
            f"{schema.VERSION}. Get a newer one: pip install -U mesa-memory",
            location=location,
        )
