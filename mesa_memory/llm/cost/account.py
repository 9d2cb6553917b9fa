"""A budget that several runs share."""

import threading
from concurrent.futures import Future
from typing import Protocol

from mesa_memory.llm.cost.usage import Usage

#: seconds after which a budget that other runs have used up for now is asked again
ASK_AGAIN_S = 0.05


class Account(Protocol):
    """A budget that a run shares with others, wherever they are made."""

    def reserve(self, forecast: Usage, beyond: Usage) -> str | None:
        """Sets a call aside; see ``Ledger.reserve``.

        Returns:
            ``""`` if it may be sent; what it would cross; None: ask again soon.
        """

    def settle(self, forecast: Usage, beyond: Usage, used: Usage) -> None:
        """Replaces a reservation by the actual use."""


def soon() -> Future[None]:
    """A future that is done after a moment: others may have ended a call by then."""
    later: Future[None] = Future()
    timer = threading.Timer(ASK_AGAIN_S, wake, [later])
    timer.daemon = True
    timer.start()
    return later


def wake(waiting: Future[None]) -> None:
    """Ends the waiting, unless it was cancelled."""
    if waiting.set_running_or_notify_cancel():
        waiting.set_result(None)
