"""Takes a study's run over from another store."""

from typing import Any

import sqlalchemy as sa

from mesa_memory.stores.schema import UNOWNED_TABLES, cases, metadata, runs, spending
from mesa_memory.stores.sql import Store
from mesa_memory.stores.studies import CaseRow

#: rows that are read at once
ROWS_AT_ONCE = 1_000


def copy_case(source: Store, case: CaseRow, target: Store, mine: CaseRow) -> None:
    """Copies the run of a case into another store, in one transaction.

    A run that the case had there, and that did not finish, is replaced. The run's parent
    is forgotten, as it has another number there or is not there.

    Args:
        source: has the case and its run; it is read.
        target: has the same case, by key, as ``mine``.

    Raises:
        StoreError: if a store fails; nothing is copied then.
    """
    owned = [
        table for table in metadata.sorted_tables
        if "run" in table.c and table.name not in UNOWNED_TABLES
    ]  # fmt: skip
    ended = {
        name: getattr(case, name)
        for name in ("state", "done", "ended", "usage", "error", "fingerprint")
    }
    here = {"study": mine.study, "number": mine.number}
    with source.reading() as there, target.writing() as on:
        old = there.execute(sa.select(runs).filter_by(id=case.run)).mappings().one()
        values = {**old, "parent": None, "parent_step": None}
        del values["id"]
        run = on.scalar(sa.insert(runs).values(values).returning(runs.c.id))
        for table in owned:
            if mine.run is not None:
                on.execute(sa.delete(table).filter_by(run=mine.run))
            _copy(there, on, table, {"run": case.run}, {"run": run})
        if mine.run is not None:
            on.execute(sa.delete(runs).filter_by(id=mine.run))
        on.execute(sa.delete(spending).filter_by(**here))
        _copy(there, on, spending, {"study": case.study, "number": case.number}, here)
        on.execute(sa.update(cases).filter_by(**here).values(run=run, **ended))


def _copy(
    there: sa.Connection,
    on: sa.Connection,
    table: sa.Table,
    where: dict[str, Any],
    changed: dict[str, Any],
) -> None:
    """Copies rows of a table with some values changed."""
    found = there.execute(
        sa.select(table).filter_by(**where).execution_options(yield_per=ROWS_AT_ONCE)
    )
    for rows in found.mappings().partitions():
        on.execute(sa.insert(table), [{**row, **changed} for row in rows])
