"""How an old store becomes one of this version, step by step, in a transaction."""

from collections.abc import Callable

import sqlalchemy as sa

from mesa_memory.core.records import DERIVED, EVENT
from mesa_memory.errors import StoreCorrupt, StoreReadOnly, StoreTooNew
from mesa_memory.stores import schema
from mesa_memory.stores.sql import SqlStore


def _interventions(on: sa.Connection) -> None:
    """Version 2: what a researcher did, and which embedder made a vector."""
    on.execute(sa.text("ALTER TABLE records ADD COLUMN embedder TEXT"))
    schema.interventions.create(on)


def _answers(on: sa.Connection) -> None:
    """Version 3: what holds for many agents, so that a resumed run knows it.

    Also since when a grade is known, what a query about a time counted for, and all
    records of an agent in order, without those of other layers in between.
    """
    schema.answers.create(on)
    number = schema.records.c.graded_at.type.compile(on.dialect)
    on.execute(sa.text(f"ALTER TABLE records ADD COLUMN graded_at {number}"))
    on.execute(sa.text("DROP VIEW recalled"))
    on.execute(sa.text(schema.view(on.dialect.name, 3)))
    on.execute(sa.text("DROP INDEX records_by_agent"))
    by_agent = "CREATE INDEX records_by_agent ON records (run, agent, seq)"
    on.execute(sa.text(by_agent))


def _kept(on: sa.Connection) -> None:
    """Version 4: which checkpoints stay (those that are there do), and vectors."""
    on.execute(sa.text("ALTER TABLE checkpoints ADD COLUMN kept BOOLEAN"))
    on.execute(sa.update(schema.checkpoints).values(kept=True))
    schema.vectors.create(on)


def _leases(on: sa.Connection) -> None:
    """Version 5: who writes a run, answers of a step that has not ended, and names."""
    on.execute(sa.text("ALTER TABLE agents ADD COLUMN name TEXT"))
    schema.leases.create(on)
    schema.unfinished_calls.create(on)


def _origin(on: sa.Connection) -> None:
    """Version 6: where a record came from; until then, what has sources was derived."""
    on.execute(sa.text("ALTER TABLE records ADD COLUMN origin TEXT"))
    sources = schema.records.c.sources
    none = sources.is_(None) | (sources == sa.literal([], sources.type))
    origin = sa.case((none, EVENT), else_=DERIVED)
    on.execute(sa.update(schema.records).values(origin=origin))


def _answered(on: sa.Connection) -> None:
    """Version 7: of each call what the provider's cache gave, its tier, how it was sent.

    No earlier call was answered from kept answers.
    """
    for table in (schema.calls, schema.unfinished_calls):
        # Version 5 makes its table as it is today.
        have = {column["name"] for column in sa.inspect(on).get_columns(table.name)}
        for name in ("tokens_cached", "tier", "kept", "client", "form"):
            kind = table.c[name].type.compile(on.dialect)
            add = f"ALTER TABLE {table.name} ADD COLUMN {name} {kind}"
            if name not in have:
                on.execute(sa.text(add))
        on.execute(sa.update(table).values(kept=False))


def _stale(on: sa.Connection) -> None:
    """Version 8: since when what a record rests on does not hold; what was used."""
    number = schema.records.c.stale_since.type.compile(on.dialect)
    have = on.execute(sa.text("SELECT * FROM records LIMIT 0")).keys()
    if "stale_since" not in have:
        on.execute(sa.text(f"ALTER TABLE records ADD COLUMN stale_since {number}"))
    on.execute(sa.text("DROP VIEW recalled"))
    on.execute(sa.text(schema.view(on.dialect.name, 8)))


def _budget(on: sa.Connection) -> None:
    """Version 9: what became of the budget of a prompt."""
    kind = schema.prompts.c.budget.type.compile(on.dialect)
    on.execute(sa.text(f"ALTER TABLE prompts ADD COLUMN budget {kind}"))


def _studies(on: sa.Connection) -> None:
    """Version 10: studies, their cases, what was measured and what agents answered."""
    for table in (
        schema.measures,
        schema.responses,
        schema.studies,
        schema.cases,
        schema.spending,
    ):
        table.create(on)


def _scenes(on: sa.Connection) -> None:
    """Version 11: where the agents of a model were, and what it told of them."""
    schema.scenes.create(on)


#: what leads to a version, by its number
MIGRATIONS: dict[int, Callable[[sa.Connection], None]] = {
    2: _interventions,
    3: _answers,
    4: _kept,
    5: _leases,
    6: _origin,
    7: _answered,
    8: _stale,
    9: _budget,
    10: _studies,
    11: _scenes,
}


def create(on: sa.Connection) -> None:
    """Makes every table in an empty database."""
    schema.metadata.create_all(on, checkfirst=False)
    on.execute(sa.text(schema.view(on.dialect.name)))
    on.execute(
        sa.insert(schema.schema_version).values(
            application=schema.APPLICATION, version=schema.VERSION
        )
    )


def check_version(found: int | None, location: str, read_only: bool) -> bool:
    """True if a store of the version ``found`` must be migrated first.

    Raises:
        StoreCorrupt: if it has none.
        StoreTooNew: if it is newer than this package.
        StoreReadOnly: if it is older, and may not be written.
    """
    if found is None or found < 1:
        raise StoreCorrupt(
            f"its schema version is {found!r}, which no version of mesa-memory wrote. "
            "Restore a backup.",
            location=location,
        )
    if found > schema.VERSION:
        raise StoreTooNew(
            f"has schema version {found}; this mesa-memory reads up to "
            f"{schema.VERSION}. Get a newer one: pip install -U mesa-memory",
            location=location,
        )
    if found < schema.VERSION and read_only:
        raise StoreReadOnly(
            f"has schema version {found} and must become {schema.VERSION} before it "
            "can be read. Bring it up to date, or a copy of it: "
            f"mesa-memory migrate {location}",
            location=location,
        )
    return found < schema.VERSION


def migrate(on: sa.Connection, found: int) -> None:
    """Applies what leads from version ``found`` to this one."""
    for version in range(found + 1, schema.VERSION + 1):
        MIGRATIONS[version](on)
    on.execute(
        sa.update(schema.schema_version)
        .filter_by(application=schema.APPLICATION)
        .values(version=schema.VERSION)
    )


def bring_up(store: SqlStore) -> None:
    """Checks a store's version and tables, and migrates an old one.

    Raises:
        StoreError: says why it cannot be used; it was not changed.
    """
    with store.reading() as on:
        found = version_of(on)
    if check_version(found, store.location, store.read_only):
        with store.writing() as on:
            # Another process may have migrated it in the meantime.
            migrate(on, version_of(on) or 0)
    with store.reading() as on:
        for table in schema.metadata.sorted_tables:
            look = sa.text(f"SELECT * FROM {table.name} LIMIT 0")  # noqa: S608
            have = set(on.execute(look).keys())
            if lacking := set(table.columns.keys()) - have:
                raise StoreCorrupt(
                    f"the table {table.name} has no {', '.join(sorted(lacking))}. The "
                    "file was changed or damaged; restore a backup.",
                    location=store.location,
                )


def version_of(on: sa.Connection) -> int | None:
    """The version that a store with our tables says it has."""
    query = sa.select(schema.schema_version.c.version)
    return on.scalar(query.filter_by(application=schema.APPLICATION))
