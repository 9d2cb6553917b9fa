"""Studies in a store: their cases, the runs of these, their results and their budget.

A case is one run that a study wants. Its run is begun in the same transaction that says
so, so that no case has two, however many processes work at the study.

Before a call is sent, what it will use is set aside; all workers see that. The account
is kept in the store, as nothing else is shared by all of them.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from mesa_memory.core.text.redaction import hide
from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.core.validate import exceeded_limit
from mesa_memory.errors import StoreError
from mesa_memory.stores.base import RunInfo
from mesa_memory.stores.schema import (
    calls,
    cases,
    checkpoints,
    metadata,
    runs,
    spending,
    storable,
    studies,
)
from mesa_memory.stores.sql import INSERTS, Store

#: states of a case
WAITING, RUNNING, FINISHED = "waiting", "running", "finished"
STOPPED, FAILED = "stopped", "failed"


@dataclass(frozen=True)
class StudyRow:
    """A study as it is in its store.

    Attributes:
        design: names of factors and measures, and how the runs are made.
        fingerprint: with what the runs are made, by part.
        drift: differences that were accepted, oldest first.
    """

    id: int
    name: str
    model: str
    design: Mapping[str, Any]
    fingerprint: Mapping[str, Any]
    drift: Sequence[Any] = ()


@dataclass(frozen=True)
class CaseRow:
    """A run that a study wants, as it is in its store.

    Attributes:
        number: within its study, from 1, in the order of the design.
        key: the same for the same parameters, seed and replicate.
        name: of its run.
        parameters: as JSON.
        steps: how far it is to go.
        run: id of its run; None before it is begun.
        done: its last step.
        ended: True if the model stopped by itself.
        usage: calls, tokens and dollars, once it has ended.
        error: why it failed or was stopped.
    """

    study: int
    number: int
    key: str
    name: str
    parameters: Mapping[str, Any]
    seed: Any
    replicate: int
    steps: float
    run: int | None = None
    state: str = WAITING
    done: float | None = None
    ended: bool | None = None
    usage: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None
    fingerprint: str | None = None

    @property
    def due(self) -> bool:
        """True if there is something left to run."""
        if self.state != FINISHED:
            return True
        return not self.ended and (self.done or 0) < self.steps


class Studies:
    """The studies of a store.

    Args:
        store: open; it stays open.
    """

    def __init__(self, store: Any) -> None:
        self.store: Store = store

    def find(self, name: str) -> StudyRow | None:
        """The study of this name, or None."""
        with self.store.reading() as on:
            row = on.execute(sa.select(studies).filter_by(name=name)).mappings().first()
        return None if row is None else StudyRow(**row)

    def names(self) -> list[str]:
        """The names of all studies, oldest first."""
        with self.store.reading() as on:
            return list(on.scalars(sa.select(studies.c.name).order_by(studies.c.id)))

    def add(
        self, name: str, model: str, design: Mapping, fingerprint: Mapping
    ) -> StudyRow:
        """The study of this name, made if it is not there."""
        values = {"name": name, "model": model, "design": dict(design)}
        values |= {"fingerprint": dict(fingerprint), "drift": []}
        with self.store.writing() as on:
            kind: Any = INSERTS[on.dialect.name]
            # Another process may add it at this moment.
            on.execute(kind(studies).values(_clean(values)).on_conflict_do_nothing())
        row = self.find(name)
        assert row is not None
        return row

    def update(self, study: int, **values: Any) -> None:
        """Sets ``design``, ``fingerprint`` or ``drift``."""
        with self.store.writing() as on:
            on.execute(sa.update(studies).filter_by(id=study).values(_clean(values)))

    # -- cases ------------------------------------------------------------------------

    def cases(self, study: int) -> list[CaseRow]:
        """All cases, in order."""
        query = sa.select(cases).filter_by(study=study).order_by(cases.c.number)
        with self.store.reading() as on:
            found = list(on.execute(query).mappings())
        return [_case(dict(row)) for row in found]

    def case(self, study: int, number: int) -> CaseRow:
        """One of them."""
        with self.store.reading() as on:
            query = sa.select(cases).filter_by(study=study, number=number)
            return _case(dict(on.execute(query).mappings().one()))

    def add_cases(self, study: int, wanted: Iterable[Mapping[str, Any]]) -> None:
        """Adds missing cases after the others, and sets the steps of all of them.

        Args:
            wanted: ``key``, ``name``, ``parameters``, ``seed``, ``replicate`` and
                ``steps``. A case that is there keeps its name.
        """
        rows = {row["key"]: row for row in wanted}
        with self.store.writing() as on:
            on.execute(sa.select(studies.c.id).filter_by(id=study).with_for_update())
            there = sa.select(cases.c.key, cases.c.number).filter_by(study=study)
            known = dict(on.execute(there).all())
            last = max(known.values(), default=0)
            new = [row for key, row in rows.items() if key not in known]
            values = [
                _clean(dict(row)) | {"study": study, "number": number, "state": WAITING}
                for number, row in enumerate(new, last + 1)
            ]
            if values:
                on.execute(sa.insert(cases), values)
            asked = [{"case": key, "wanted": row["steps"]} for key, row in rows.items()]
            if asked:
                change = sa.update(cases).filter_by(study=study)
                change = change.where(cases.c.key == sa.bindparam("case"))
                on.execute(change.values(steps=sa.bindparam("wanted")), asked)

    def claim(self, study: int, number: int, info: RunInfo) -> tuple[CaseRow, bool]:
        """The case as it is now, whose run this store writes from here on.

        Returns:
            The case, and True if its run has just been begun. If there is nothing left
            to run, no lease is taken.

        Raises:
            RunInUse: if another process writes the run.
        """
        with self.store.writing() as on:
            query = sa.select(cases).filter_by(study=study, number=number)
            row = dict(on.execute(query.with_for_update()).mappings().one())
            case = _case(row)
            if not case.due:
                return case, False
            new = case.run is None
            if new:
                row["run"] = self.store.begin_on(on, info)
            else:
                self.store.confirm(on, row["run"])
            state = {"state": RUNNING, "error": None, "run": row["run"]}
            where = {"study": study, "number": number}
            on.execute(sa.update(cases).filter_by(**where).values(state))
        return _case({**row, **state}), new

    def settle(self, study: int, number: int, **values: Any) -> None:
        """Writes how a case ended: ``state``, ``done``, ``usage``, ``error``, …"""
        with self.store.writing() as on:
            change = sa.update(cases).filter_by(study=study, number=number)
            on.execute(change.values(_clean(values)))

    def free_reserved(self, study: int) -> None:
        """Releases the reservations of workers that have died."""
        with self.store.writing() as on:
            mine = sa.select(cases.c.number, cases.c.run).filter_by(study=study)
            mine = mine.where(cases.c.run.is_not(None))
            dead = [
                number for number, run in on.execute(mine)
                if not self.store.has_writer(on, run)
            ]  # fmt: skip
            change = sa.update(spending).filter_by(study=study)
            change = change.where(spending.c.number.in_(dead))
            on.execute(change.values(FREE))

    # -- what came out ------------------------------------------------------------------

    def usage(self, run: int) -> dict[str, Any]:
        """The usage of a recorded run; each of its calls counts once."""
        rows = spent(self.store, [run])
        sums = {
            key: sum(row[key] for row in rows) for key in ("tokens_in", "tokens_out")
        }
        unpriced = any(row["unpriced"] for row in rows)
        return {
            "calls": sum(row["calls"] + row["cached"] for row in rows),
            **sums,
            "cost": None if unpriced else float(sum(row["cost"] for row in rows)),
        }

    def spent(self, study: int) -> list[dict[str, Any]]:
        """The usage of all runs of a study, see ``spent``.

        Runs that are not recorded have one row for each attempt.
        """
        rows = self.cases(study)
        mine = sa.select(cases.c.run).filter_by(study=study)
        recorded = spent(self.store, mine.where(cases.c.run.is_not(None)))
        return recorded + [r for case in rows for r in case.usage.get("spent", ())]

    def rows(
        self, table: str, study: int, names: Collection[str] = ()
    ) -> list[dict[str, Any]]:
        """Rows of a table that has a column ``run``, of all runs of a study.

        Each has the number of its case; in order of case, step and what was first.

        Args:
            names: of columns; by default all but ``prompt`` and ``raw``.
        """
        source = metadata.tables[table]
        names = names or {*source.c.keys()} - {"run", "prompt", "raw"}
        own = [c for c in source.c if c.name in names]
        query = sa.select(cases.c.number.label("case"), *own)
        query = query.join(cases, cases.c.run == source.c.run).filter_by(study=study)
        order = [source.c.seq] if "seq" in source.c else list(source.primary_key)[1:]
        with self.store.reading() as on:
            ordered = query.order_by(cases.c.number, *order)
            return [dict(row) for row in on.execute(ordered).mappings()]

    def checkpoints(self, study: int) -> dict[int, dict[float, bool]]:
        """The steps of which runs have checkpoints, and if they stay, by case."""
        c = checkpoints.c
        query = sa.select(cases.c.number, c.step, c.kept).distinct()
        query = query.join(cases, cases.c.run == c.run).where(cases.c.study == study)
        found: dict[int, dict[float, bool]] = {}
        with self.store.reading() as on:
            for number, step, kept in on.execute(query):
                found.setdefault(number, {})[step] = bool(kept)
        return found

    def ended_before(self, run: int) -> bool:
        """True if a run is a copy of one whose model had stopped by itself by then."""
        parent = sa.select(runs.c.parent, runs.c.parent_step).filter_by(id=run)
        of = parent.subquery()
        query = sa.select(cases.c.ended).where(cases.c.run == of.c.parent)
        with self.store.reading() as on:
            return bool(on.scalar(query.where(cases.c.done <= of.c.parent_step)))

    def forked(self, study: int) -> int:
        """The number of runs of a study that began as a copy of another run."""
        query = sa.select(sa.func.count()).join(runs, runs.c.id == cases.c.run)
        query = query.where(cases.c.study == study, runs.c.parent.is_not(None))
        with self.store.reading() as on:
            return on.scalar(query.select_from(cases)) or 0


def spent(store: Store, of_runs: Any) -> list[dict[str, Any]]:
    """The usage of recorded runs by model, purpose and tier: calls and tokens.

    Calls answered from another run or from the cache count as ``not_sent`` only; those
    from the cache are ``cached``, too.

    Args:
        of_runs: ids of the runs, or a query for them.
    """
    c = calls.c
    replayed, cached = (
        sa.func.coalesce(column, sa.false()) for column in (c.replayed, c.cached)
    )
    live = ~replayed & ~cached
    counts = {
        "calls": live, "not_sent": ~live, "cached": cached & ~replayed,
        "failures": live & c.error.is_not(None),
        "unpriced": live & c.cost.is_(None) & c.error.is_(None),
    }  # fmt: skip
    counted = [sa.func.count().filter(which).label(n) for n, which in counts.items()]
    summed = [
        sa.func.coalesce(sa.func.sum(sa.case((live, column))), 0).label(column.name)
        for column in (c.tokens_in, c.tokens_out, c.tokens_cached, c.cost)
    ]
    keys = (c.model, c.purpose, c.tier)
    query = sa.select(*keys, *counted, *summed).where(c.run.in_(of_runs))
    with store.reading() as on:
        ordered = query.group_by(*keys).order_by(*keys)
        return [dict(row) for row in on.execute(ordered).mappings()]


def _case(row: Mapping[str, Any]) -> CaseRow:
    return CaseRow(**{**row, "usage": row["usage"] or {}})


def _clean(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values as every database can keep them, without secrets."""
    return storable(hide(dict(values)))


logger = logger_of(__name__)

#: what is limited
KEYS = ("calls", "tokens", "cost")
NOTHING: dict[str, Any] = dict.fromkeys(KEYS, 0)
#: of an account: no call is under way
FREE = {"reserved": NOTHING, "beyond": NOTHING}

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
            row = sa.update(spending).filter_by(**self._mine).values(FREE)
            if not on.execute(row).rowcount:
                new = self._mine | FREE | {"used": {**NOTHING, **used}}
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
            if told := exceeded_limit(after, self._limits):
                return told
            open_ended = total([after, *(row["beyond"] for row in rows)])
            if reserved["calls"] and exceeded_limit(open_ended, self._limits):
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
        paid = total([self._unwritten, _amount(used)])
        mine = sa.select(spending).filter_by(**self._mine)
        try:
            with self.store.writing() as on:
                self._lock(on)
                row = on.execute(mine).mappings().one()
                now = {
                    "reserved": _less(row["reserved"], _amount(forecast)),
                    "beyond": _less(row["beyond"], _amount(beyond)),
                    "used": total([row["used"], paid]),
                }
                if not now["reserved"]["calls"]:  # nothing, an unknown cost included
                    now |= FREE
                on.execute(sa.update(spending).filter_by(**self._mine).values(now))
            self._unwritten = NOTHING
        except StoreError as error:
            self._unwritten = paid
            logger.warning(
                "the use of a call could not be added to the study's account: %s", error
            )

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
