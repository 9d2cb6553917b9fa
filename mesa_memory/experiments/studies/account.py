"""One budget over all workers, as the ledger of one run sees it."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.errors import StoreError
from mesa_memory.llm.cost.usage import Budget, Usage
from mesa_memory.stores.spending import NOTHING, Spending, total

logger = logger_of(__name__)


class StudyAccount:
    """A run's account in the budget of its study; see ``llm.cost.ledger.Account``.

    Args:
        spending: the account of the run's case.
        budget: of the whole study.
    """

    def __init__(self, spending: Spending, budget: Budget) -> None:
        self._spending, self._limits = spending, asdict(budget)
        self._unwritten: dict[str, Any] = dict(NOTHING)

    def reserve(self, forecast: Usage, beyond: Usage) -> str | None:
        """Sets a call aside; see ``Spending.reserve``."""
        if self._free(forecast) and self._free(beyond):
            return ""
        return self._spending.reserve(_amount(forecast), _amount(beyond), self._limits)

    def settle(self, forecast: Usage, beyond: Usage, used: Usage) -> None:
        """Replaces a reservation by the actual use.

        An answer that is paid for must not be lost because the store is busy: what
        cannot be written is added next time.
        """
        if self._free(forecast) and self._free(beyond) and self._free(used):
            return
        spent = total([self._unwritten, _amount(used)])
        try:
            self._spending.settle(_amount(forecast), _amount(beyond), spent)
            self._unwritten = dict(NOTHING)
        except StoreError as error:
            self._unwritten = spent
            logger.warning(
                "the use of a call could not be added to the study's account: %s", error
            )

    def _free(self, usage: Usage) -> bool:
        """True if nothing that is limited is used."""
        amount = _amount(usage)
        limited = [key for key, limit in self._limits.items() if limit is not None]
        return all(amount[key] == 0 for key in limited)


def _amount(usage: Usage) -> Mapping[str, Any]:
    return {"calls": usage.calls, "tokens": usage.tokens, "cost": usage.cost}
