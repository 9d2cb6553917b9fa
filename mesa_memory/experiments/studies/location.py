"""The location of a study's store."""

import os
from pathlib import Path

from mesa_memory.stores.open import is_postgres, sqlite_path


def location_of(store: str | Path) -> str:
    """The store's path or address, the same in every process.

    Raises:
        ValueError: for a store that other processes cannot open.
    """
    address = os.fspath(store)
    if is_postgres(address):
        return address
    path = sqlite_path(address)
    if path == ":memory:":
        raise ValueError(
            "a study cannot be kept in memory, as its workers could not write into it: "
            "give the path of a file, such as store='study.sqlite'"
        )
    return os.path.abspath(os.path.expanduser(path))
