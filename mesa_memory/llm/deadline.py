"""How long one request may still take."""

import asyncio
import time
from typing import Any


class Patience:
    """The seconds left for the provider: its attempts, and the waits between them.

    What a request waits for its own turn (rate and concurrency limits) is not counted.
    """

    def __init__(self, seconds: float) -> None:
        self.left = seconds

    def attempt(self, timeout: float) -> "_Attempt":
        """Around an attempt: ends it after ``timeout``, or when nothing is left.

        Raises:
            TimeoutError: then.
        """
        return _Attempt(self, timeout)

    async def sleep(self, seconds: float) -> None:
        """Waits for the next attempt."""
        self.left -= seconds
        await asyncio.sleep(seconds)


class _Attempt:
    """An attempt under way, whose time is taken off."""

    def __init__(self, patience: Patience, timeout: float) -> None:
        self._patience = patience
        self._limit = asyncio.timeout(min(timeout, patience.left))
        self._began = time.monotonic()

    async def __aenter__(self) -> None:
        await self._limit.__aenter__()

    async def __aexit__(self, *raised: Any) -> None:
        try:
            await self._limit.__aexit__(*raised)
        finally:
            self._patience.left -= time.monotonic() - self._began
