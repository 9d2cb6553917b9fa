"""Stores of recorded runs: SQLite files and PostgreSQL, one schema for both."""

from mesa_memory.stores.base import Batch, RunInfo
from mesa_memory.stores.open import open_store
from mesa_memory.stores.sql import Store
from mesa_memory.stores.writer import Writer

__all__ = ["Batch", "RunInfo", "Store", "Writer", "open_store"]
