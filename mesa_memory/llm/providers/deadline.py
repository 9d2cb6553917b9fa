"""How long one request may still take."""

import asyncio


class Patience:
    """The seconds left for the provider: its attempts, and the waits between them.

    What a request waits for its own turn (rate and concurrency limits) is not counted.

    Attributes:
        left: seconds; whoever makes an attempt takes off what it took.
    """

    def __init__(self, seconds: float) -> None:
        self.left = seconds

    async def sleep(self, seconds: float) -> None:
        """Waits for the next attempt."""
        self.left -= seconds
        await asyncio.sleep(seconds)
