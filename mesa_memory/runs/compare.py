"""The first difference between two runs.

Compared are steps, interventions, calls (prompts by their hash, and replies), records
with their lifetimes, recalls and the texts shown. Not compared are run numbers, names,
parameters, the time of day, how long calls took, what they cost and who answered them.
What happens within a step is compared by whose it is, as agents may think at the same
time.

Different classes of memory name their records differently, ask and show differently. Of
such runs only what happened to the agents can be compared: events, matched by agent,
kind, step and text, and interventions.
"""

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

from sqlalchemy import select

import mesa_memory.stores.schema as schema
from mesa_memory.core.notebook import NotebookShown
from mesa_memory.core.records import EVENT
from mesa_memory.runs.recorded import RecordedRun

Row = dict[str, Any]
#: the rows of a run in a step, by key
type Side = dict[tuple, Row]


class _Columns(NamedTuple):
    """The compared columns of a table.

    Attributes:
        keys: what names a row within a step.
        values: what must be equal.
        origin: only records of this origin; None is all rows.
    """

    keys: tuple[str, ...]
    values: tuple[str, ...]
    origin: str | None = None


#: what is compared, by table
type Compared = Mapping[str, _Columns]
_INTERVENTIONS = _Columns(("agent",), ("kind", "detail"))
_ALL: Compared = {
    "interventions": _INTERVENTIONS,
    "calls": _Columns(("agent", "purpose", "occurrence"), ("prompt_hash", "reply")),
    "records": _Columns(
        ("id",),
        (
            *("agent", "layer", "kind", "text", "content", "importance", "subject"),
            *("sources", "valid_from", "valid_to", "closed_because", "superseded_by"),
        ),
    ),
    "recalls": _Columns(
        ("agent", "layer", "purpose"), ("query", "scoring", "candidates")
    ),
    "prompts": _Columns(("agent", "layer", "section"), ("text",)),
}
_EVENTS: Compared = {
    "interventions": _INTERVENTIONS,
    "records": _Columns(("agent", "kind", "text"), (), origin=EVENT),
}
#: scores of another machine may differ in the last of six recorded digits
SCORE_TOLERANCE = 2.5e-6
#: what ends a record's lifetime, at ``valid_to``
_END_COLUMNS = {"valid_to", "closed_because", "superseded_by"}


@dataclass(frozen=True)
class Difference(NotebookShown):
    """The first difference between two runs.

    Attributes:
        table: ``"steps"`` if one run has a step that the other has not, else where the
            row stands.
        step: the model's clock.
        seq: the row's place in its run, the lower of both; None for a step.
        fields: the columns that differ; empty if one run lacks the row.
        left, right: what was compared of the row in each run, or None.
    """

    table: str
    step: float
    seq: int | None
    fields: tuple[str, ...]
    left: Row | None
    right: Row | None

    @property
    def place(self) -> tuple[float, int, int]:
        """By step; in it, events, then ended lifetimes, then its end."""
        if self.seq is None:
            return self.step, 2, 0
        ended = self.table == "records" and bool(self.fields)
        return self.step, int(ended and _END_COLUMNS.issuperset(self.fields)), self.seq


@dataclass(frozen=True)
class Parting(NotebookShown):
    """The point at which two runs part.

    Attributes:
        first: the first difference, or None.
        events: True if only what happened to the agents was compared.
        parameters: of each run, the ones that differ.
    """

    first: Difference | None
    events: bool
    parameters: tuple[Row, Row]


def first_difference(
    left: RecordedRun, right: RecordedRun, events: bool = False
) -> Difference | None:
    """See ``Run.differences``."""
    first, compared = _steps(left, right), _EVENTS if events else _ALL
    for name, columns in compared.items():
        for step, mine, theirs in _side_by_side(name, columns, left, right):
            if first and step > first.step:
                break
            apart = _different(name, columns.values, step, mine, theirs)
            found = [*apart, *([first] if first else [])]
            first = min(found, key=lambda one: one.place, default=None)
    return first


def differing_parameters(given: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For each run the parameters that are not the same in all of them, by name.

    Args:
        given: what each run was made with.
    """
    names = dict.fromkeys(name for parameters in given for name in parameters)
    apart = [
        name
        for name in names
        if any(name not in p or p[name] != given[0].get(name) for p in given)
    ]
    return [{name: p[name] for name in apart if name in p} for p in given]


def _steps(left: RecordedRun, right: RecordedRun) -> Difference | None:
    mine, theirs = left.steps, right.steps
    apart = sorted(set(mine) ^ set(theirs))
    if not apart:
        return None
    step = apart[0]
    sides = [{"step": step} if step in own else None for own in (mine, theirs)]
    return Difference("steps", step, None, (), *sides)


def _side_by_side(
    name: str, columns: _Columns, *runs: RecordedRun
) -> Iterator[tuple[float, Side, Side]]:
    """Each step with its rows in both runs, by key."""
    flows = [_rows(name, columns, run, side) for side, run in enumerate(runs)]
    both = heapq.merge(*flows, key=lambda each: each[1]["step"])
    for step, together in groupby(both, key=lambda each: each[1]["step"]):
        sides: tuple[Side, Side] = ({}, {})
        count: Counter[tuple] = Counter()
        for side, row in together:
            key = tuple(row[n] for n in columns.keys)
            count[side, key] += 1
            sides[side][*key, count[side, key]] = row
        yield step, *sides


def _rows(
    name: str, columns: _Columns, run: RecordedRun, side: int
) -> Iterator[tuple[int, Row]]:
    """The rows of a table in order, each with the number of its side."""
    table = schema.metadata.tables[name]
    names = ("step", "seq", *columns.keys, *columns.values)
    wanted = select(*[table.c[n] for n in names]).where(run.mine(table))
    if columns.origin:
        wanted = wanted.where(table.c.origin == columns.origin)
    for chunk in run.chunks(wanted.order_by(table.c.step, table.c.seq)):
        for row in chunk:
            yield side, dict(zip(names, row))


def _different(
    name: str, values: tuple[str, ...], step: float, left: Side, right: Side
) -> Iterator[Difference]:
    """The differences between the rows of a step."""
    if left == right:
        return
    for key in dict.fromkeys([*left, *right]):
        mine, theirs = left.get(key), right.get(key)
        seq = min(row["seq"] for row in (mine, theirs) if row)
        if mine is None or theirs is None:
            yield Difference(name, step, seq, (), mine, theirs)
            continue
        fields = tuple(
            n
            for n in values
            if mine[n] != theirs[n]
            and not (n == "candidates" and _alike(mine[n], theirs[n]))
        )
        if fields:
            when = _ended(mine, theirs) if _END_COLUMNS.issuperset(fields) else step
            yield Difference(name, when, seq, fields, mine, theirs)


def _alike(one: Any, other: Any) -> bool:
    """The same value; numbers that a ranking takes for the same are."""
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= SCORE_TOLERANCE
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        same = one.keys() == other.keys()
        return same and all(_alike(one[key], other[key]) for key in one)
    return bool(one == other)


def _ended(left: Row, right: Row) -> float:
    """The step at which the first of two lifetimes ended."""
    ends = [row["valid_to"] for row in (left, right) if row["valid_to"] is not None]
    return min(ends, default=left["step"])
