"""A copy of a recorded run in the same store."""

from datetime import UTC, datetime

import sqlalchemy as sa

from mesa_memory.stores.schema import metadata, runs
from mesa_memory.stores.sql import SqlStore


def copy_run(store: SqlStore, run: int, step: float, name: str | None) -> int:
    """Copies what a run was at the end of a step into a new run; its id.

    The copy knows its parent. Nothing is shared: rows are copied.

    Raises:
        StoreError: if the store fails; nothing is copied then.
    """
    with store.writing() as on:
        old = on.execute(sa.select(runs).filter_by(id=run)).mappings().one()
        now = datetime.now(UTC).isoformat(timespec="seconds")
        values = dict(old, name=name, started=now, state="running")
        values |= {"parent": run, "parent_step": step}
        del values["id"]
        copy = on.scalar(sa.insert(runs).values(values).returning(runs.c.id))
        for table in metadata.sorted_tables:
            if "run" not in table.c:
                continue
            names = [column.name for column in table.c if column.name != "run"]
            rows = sa.select(sa.literal(copy), *(table.c[n] for n in names))
            rows = rows.where(table.c.run == run)
            on.execute(sa.insert(table).from_select(["run", *names], rows))
    store.truncate(copy, step)
    return copy
