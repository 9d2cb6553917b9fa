"""The part of a study's budget that its runs have used, on all workers and machines.

Before a call is sent, what it will use is set aside; all workers see that. The account
is kept in the store, as nothing else is shared by all of them.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa

from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.core.validate import crossed
from mesa_memory.errors import StoreError
from mesa_memory.stores.schema import spending, studies
from mesa_memory.stores.sql import Store

logger = logger_of(__name__)

#: what is limited
KEYS = ("calls", "tokens", "cost")
NOTHING: dict[str, Any] = dict.fromkeys(KEYS, 0)

#: calls, tokens and US dollars; a cost of None is unknown
type Amount = Mapping[str, Any]


class Spending:
    """The account of one case of a study.

    See ``llm.ledger.Account``.

    Args:
        store: open; it stays open.
        study, number: the case.
        limits: of the whole study, by name; None is unlimited.
    """

    def __init__(self, store: Any, study: int, number: int, limits: Amount) -> None:
        self.store: Store = store
        self._mine, self._limits = {"study": study, "number": number}, limits
        self._unwritten: Amount = NOTHING

    def open(self, used: Amount) -> None:
        """Begins the account, or goes on with it: nothing is under way.

        Args:
            used: by the case before, if it does not have an account yet.
        """
        with self.store.writing() as on:
            self._lock(on)
            nothing = {"reserved": NOTHING, "beyond": NOTHING}
            row = sa.update(spending).filter_by(**self._mine).values(nothing)
            if not on.execute(row).rowcount:
                new = self._mine | nothing | {"used": {**NOTHING, **used}}
                on.execute(sa.insert(spending).values(new))

    def reserve(self, forecast: Any, beyond: Any) -> str | None:
        """Sets a call's forecast aside, if the budget allows it.

        Args:
            forecast: ``Usage`` that it will have at least.
            beyond: what it may use besides.

        Returns:
            ``""`` if it may be sent; what it would cross; or None where calls under way
            may use up what is left: ask again when one of them has ended.
        """
        if self._free(forecast) and self._free(beyond):
            return ""
        forecast, beyond = _amount(forecast), _amount(beyond)
        with self.store.writing() as on:
            self._lock(on)
            query = sa.select(spending).filter_by(study=self._mine["study"])
            rows = list(on.execute(query).mappings())
            reserved = total(row["reserved"] for row in rows)
            after = total([*(row["used"] for row in rows), reserved, forecast])
            if told := crossed(after, self._limits):
                return told
            open_ended = total([after, *(row["beyond"] for row in rows)])
            if reserved["calls"] and crossed(open_ended, self._limits):
                return None
            (mine,) = [r for r in rows if r["number"] == self._mine["number"]]
            more = {
                "reserved": total([mine["reserved"], forecast]),
                "beyond": total([mine["beyond"], beyond]),
            }
            on.execute(sa.update(spending).filter_by(**self._mine).values(more))
        return ""

    def settle(self, forecast: Any, beyond: Any, used: Any) -> None:
        """Replaces the reservation of a call by its actual use.

        An answer that is paid for must not be lost because the store is busy: what
        cannot be written is added next time.
        """
        if all(map(self._free, (forecast, beyond, used))):
            return
        spent = total([self._unwritten, _amount(used)])
        try:
            self._settle(_amount(forecast), _amount(beyond), spent)
            self._unwritten = NOTHING
        except StoreError as error:
            self._unwritten = spent
            logger.warning(
                "the use of a call could not be added to the study's account: %s", error
            )

    def _settle(self, forecast: Amount, beyond: Amount, used: Amount) -> None:
        with self.store.writing() as on:
            self._lock(on)
            row = on.execute(sa.select(spending).filter_by(**self._mine)).mappings()
            mine = row.one()
            now = {
                "reserved": _less(mine["reserved"], forecast),
                "beyond": _less(mine["beyond"], beyond),
                "used": total([mine["used"], used]),
            }
            if not now["reserved"][
                "calls"
            ]:  # exactly nothing, an unknown cost included
                now |= {"reserved": NOTHING, "beyond": NOTHING}
            on.execute(sa.update(spending).filter_by(**self._mine).values(now))

    def _free(self, usage: Any) -> bool:
        """True if nothing that is limited is used."""
        amount = _amount(usage)
        limited = [key for key, limit in self._limits.items() if limit is not None]
        return all(amount[key] == 0 for key in limited)

    def _lock(self, on: sa.Connection) -> None:
        """Makes other workers of this study wait until the transaction ends."""
        one = sa.select(studies.c.id).filter_by(id=self._mine["study"])
        on.execute(one.with_for_update())


def _amount(usage: Any) -> Amount:
    return {key: getattr(usage, key) for key in KEYS}


def total(amounts: Iterable[Amount]) -> dict[str, Any]:
    """The sum; an unknown cost makes it unknown."""
    found = dict(NOTHING)
    for amount in amounts:
        for key in KEYS:
            more = amount.get(key)
            known = found[key] is not None and more is not None
            found[key] = found[key] + more if known else None
    return found


def _less(amount: Amount, part: Amount) -> dict[str, Any]:
    return {
        key: None if amount[key] is None else amount[key] - (part.get(key) or 0)
        for key in KEYS
    }
