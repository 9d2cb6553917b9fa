"""The ledger of a model run: counts every call and stops before the budget is crossed."""

import threading
from collections import defaultdict
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, Protocol

from mesa_memory.core.reply import Reply, Route
from mesa_memory.core.requests import LLMRequest
from mesa_memory.core.text.replies import Refusal
from mesa_memory.core.validate import crossed
from mesa_memory.errors import BudgetExceeded
from mesa_memory.llm.cost.usage import NOTHING, Budget, Reservation, Usage, largest

#: keys by which usage can be grouped
GROUP_KEYS = ("purpose", "model", "agent")
UNLIMITED = Budget()
#: seconds after which a budget that other runs have used up for now is asked again
ASK_AGAIN_S = 0.05

type _Sums = defaultdict[tuple, Usage]


class Account(Protocol):
    """A budget that a run shares with others, wherever they are made."""

    def reserve(self, forecast: Usage, beyond: Usage) -> str | None:
        """Sets a call aside; see ``Ledger.reserve``.

        Returns:
            ``""`` if it may be sent; what it would cross; None: ask again soon.
        """

    def settle(self, forecast: Usage, beyond: Usage, used: Usage) -> None:
        """Replaces a reservation by the actual use."""


class Ledger:
    """Counts every call of one model run, and stops before the budget is crossed."""

    def __init__(self, budget: Budget | None = None) -> None:
        self.budget = budget or UNLIMITED
        #: a budget that other runs use, too; None if the run has its own only
        self.account: Account | None = None
        self._routes: dict[str, Route] = {}
        self._usage = _sums()  # by purpose, model and agent
        self._total = NOTHING
        # A task reads a reply, and fills in its verdict, after the call was counted.
        self._verdicts: dict[tuple, list[Refusal]] = defaultdict(list)
        self._excess = NOTHING  # the most that a call has used beyond its forecast
        self._lock = threading.Lock()
        self._open: list[Reservation] = []
        self._waiting: list[Future] = []  # requests that wait for the end of a call

    @property
    def routes(self) -> dict[str, Route]:
        """By model, the route of its last answered request, in order of first use."""
        return dict(self._routes)

    def record_route(self, model: str, reply: Reply) -> None:
        """Notes the route of an answered request, if a provider answered it."""
        if reply.route:
            self._routes[model] = reply.route

    @property
    def total(self) -> Usage:
        """The sum over all calls since the run began, also before it was resumed."""
        return sum(self.by().values(), NOTHING)

    def go_on(self, before: Mapping[tuple[str, str], Usage]) -> None:
        """Counts what a run has used, by purpose and model, before it was resumed."""
        with self._lock:
            for (purpose, model), used in before.items():
                self._usage[purpose, model, None] += used
                self._total += used

    def by(self, *keys: str) -> dict[tuple, Usage]:
        """Usage since the run began, grouped by some of purpose, model and agent.

        It stands in order of use. Of calls before a run was resumed, the agent is None,
        and seconds and attempts are not counted; the run's record has them.

        Raises:
            ValueError: for another key.
        """
        unknown = [key for key in keys if key not in GROUP_KEYS]
        if unknown:
            raise ValueError(f"usage can be grouped by {GROUP_KEYS}, got {unknown}")
        positions = [GROUP_KEYS.index(key) for key in keys]
        grouped = _sums()
        with self._lock:
            for full, used in self._usage.items():
                key = tuple(full[position] for position in positions)
                grouped[key] += used
                for verdict in self._verdicts.get(full, ()):
                    grouped[key] += Usage(
                        doubtful=bool(verdict.doubt), given_up=bool(verdict.reason)
                    )
        return dict(grouped)

    def reserve(
        self, request: LLMRequest, forecast: Usage, reply: Usage = NOTHING
    ) -> "Reservation | Future[None]":
        """Reserves a call's forecast before it is sent.

        Args:
            reply: the most that the reply may use beyond the forecast.

        Returns:
            The reservation; or, where calls under way may use up the rest of the budget,
            a future that is done when one of them has ended: then ask again.

        Raises:
            BudgetExceeded: if it would cross the budget; nothing is reserved.
        """
        with self._lock:
            if self.budget != UNLIMITED:
                limits, used = vars(self.budget), self._total + forecast
                for open_call in self._open:
                    used += open_call.forecast
                if over := crossed(_by_limit(used), limits):
                    raise _exceeded(request, over)
                for open_call in self._open:
                    used += open_call.beyond
                if self._open and crossed(_by_limit(used), limits):
                    ended: Future[None] = Future()
                    self._waiting.append(ended)
                    return ended
            beyond = largest(self._excess, reply, NOTHING)
            if self.account is not None:
                shared = self.account.reserve(forecast, beyond)
                if shared is None:
                    return soon()
                if shared:
                    raise _exceeded(request, shared, "study.run(budget=…)")
            reservation = Reservation(forecast, beyond)
            self._open.append(reservation)
            return reservation

    def settle(
        self, request: LLMRequest, model: str, reserved: Reservation, used: Usage
    ) -> None:
        """Replaces the reservation of a call by its usage of ``model``."""
        with self._lock:
            self._open.remove(reserved)
            self._excess = largest(self._excess, used, reserved.forecast)
            self._count(request, model, used)
            waiting, self._waiting = self._waiting, []
            if self.account is not None:
                self.account.settle(reserved.forecast, reserved.beyond, used)
        for ended in waiting:
            wake(ended)

    def count(self, request: LLMRequest, model: str, used: Usage) -> None:
        """Counts a call without a reservation, such as one answered from the cache."""
        with self._lock:
            self._count(request, model, used)

    def _count(self, request: LLMRequest, model: str, used: Usage) -> None:
        key = request.purpose, model, request.agent
        self._usage[key] += used
        self._total += used
        if request.refusal is not None:
            self._verdicts[key].append(request.refusal)


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


def _sums() -> _Sums:
    return defaultdict(lambda: NOTHING)


def _by_limit(used: Usage) -> dict[str, Any]:
    """Usage by the names of a budget."""
    return {"calls": used.calls, "tokens": used.tokens, "cost": used.cost}


def _exceeded(
    request: LLMRequest, crossed: str, how: str = "configure(model, budget=Budget(…))"
) -> BudgetExceeded:
    return BudgetExceeded(
        f"this call would cross the budget: {crossed}. Nothing was sent; raise the "
        f"limit with {how}.",
        **request.where,
    )
