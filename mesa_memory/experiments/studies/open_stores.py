"""The stores that cases of studies are written into by this process."""

import os
import threading
from typing import Any

from mesa_memory.stores.open import open_store


class Stores:
    """The stores that this process has open, one for each location."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[tuple[int, str], Any] = {}

    def open(self, location: str) -> Any:
        """The store, opened on first use."""
        key = (os.getpid(), location)
        with self._lock:
            if key not in self._open:
                self._open[key] = open_store(location)
            return self._open[key]

    def forget(self, location: str) -> None:
        """The store is closed; the next use opens it again."""
        with self._lock:
            store = self._open.pop((os.getpid(), location), None)
        if store is not None:
            store.close()

    def close(self) -> None:
        """All of them are closed."""
        for _, location in list(self._open):
            self.forget(location)


stores = Stores()
