"""Stores of recorded runs: SQLite files and PostgreSQL, one schema for both.

Names are loaded on first use: a model that is not recorded does not load SQLAlchemy.
"""

from typing import TYPE_CHECKING, Any

from mesa_memory import exported

if TYPE_CHECKING:
    from mesa_memory.stores.base import Batch, RunInfo
    from mesa_memory.stores.open import open_store
    from mesa_memory.stores.sql import Store
    from mesa_memory.stores.writer import Writer

_PLACES = {
    "Batch": "stores.base",
    "RunInfo": "stores.base",
    "Store": "stores.sql",
    "Writer": "stores.writer",
    "open_store": "stores.open",
}

__all__ = ["Batch", "RunInfo", "Store", "Writer", "open_store"]


def __getattr__(name: str) -> Any:
    return exported(__name__, _PLACES, name)
