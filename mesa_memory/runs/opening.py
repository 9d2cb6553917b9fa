"""Opens a recorded run by its store and its number or name."""

from pathlib import Path

from mesa_memory.runs.reader import Reader
from mesa_memory.runs.run import Run
from mesa_memory.runs.stored import found
from mesa_memory.stores.open import open_store
from mesa_memory.stores.sql import Store


def open_run(store: str | Path | Store, run: int | str | None = None) -> Run:
    """Opens a recorded run to be read; it may still be going on.

    Nothing is changed, whatever the store.

    Args:
        store: path or address as for ``configure(model, record=…)``, or a store that is
            open, which the run's ``close`` leaves open.
        run: number or name; None is the newest run in the store.

    Raises:
        StoreError: if there is no store, or it cannot be read.
        ValueError: if the store has no such run; names those it has.
    """
    if isinstance(store, str | Path):
        opened = open_store(store, read_only=True)
        try:
            return Run(Reader(opened), found(Reader(opened), run))
        except BaseException:
            opened.close()
            raise
    reader = Reader(store, lent=True)
    return Run(reader, found(reader, run))
