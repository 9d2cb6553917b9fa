"""How long one request may still take."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Patience:
    """The seconds left for the provider: its attempts, and the waits between them.

    What a request waits for its own turn (rate and concurrency limits) is not counted.
    """

    def __init__(self, seconds: float) -> None:
        self.left = seconds

    @asynccontextmanager
    async def attempt(self, timeout: float) -> AsyncIterator[None]:
        """Ends the attempt after ``timeout``, or when nothing is left.

        Raises:
            TimeoutError: then.
        """
        began = time.monotonic()
        try:
            async with asyncio.timeout(min(timeout, self.left)):
                yield
        finally:
            self.left -= time.monotonic() - began

    async def sleep(self, seconds: float) -> None:
        """Waits for the next attempt."""
        self.left -= seconds
        await asyncio.sleep(seconds)
