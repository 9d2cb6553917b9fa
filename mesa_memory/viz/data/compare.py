"""Two memories side by side, records of both and of only one; and numbers of runs by step."""

from collections import Counter
from dataclasses import dataclass

import pandas as pd

from mesa_memory.runs import Run
from mesa_memory.runs.compare import Difference
from mesa_memory.viz.data import reading
from mesa_memory.viz.data.agent import Past, Row
from mesa_memory.viz.data.requests import cost
from mesa_memory.viz.data.story.colouring import of_outcome
from mesa_memory.viz.data.story.scene import scene

#: values of ``held by``
BOTH, LEFT, RIGHT = "both", "left", "right"
#: longest value of a difference, in characters
VALUE_CHARS = 20_000
#: numbers that every run has: label and unit
SPENT = {
    "calls": ("calls until the step", "calls"),
    "tokens": ("tokens until the step", "tokens"),
    "cost": ("money until the step", "US dollars"),
}
#: columns that every row has, or that repeat another one
_REPEATED = ("step", "seq", "agent", "content")


def key(row: Row) -> tuple[str, str]:
    """Kind and text of a record: agents, layers and runs name equal records differently."""
    return row["kind"], row["text"] or ""


def marked(left: list[Row], right: list[Row]) -> list[Row]:
    """The records of two memories, each with ``held by``: those of one side first.

    A text that one side holds twice and the other once is once of one side alone.
    """
    both = Counter(map(key, left)) & Counter(map(key, right))
    of_both: list[Row] = []
    alone: list[Row] = []
    for side, rows in ((LEFT, left), (RIGHT, right)):
        shared = both.copy()
        for row in rows:
            same, shared[key(row)] = shared[key(row)] > 0, shared[key(row)] - 1
            if not same:
                alone.append(row | {"held by": side})
            elif side == LEFT:
                of_both.append(row | {"held by": BOTH})
    return alone + of_both


def course(left: Past, right: Past, steps: list[float]) -> dict[str, list[int]]:
    """At each step the number of records in both memories, and in one of them only."""
    counts: dict[str, list[int]] = {"both": [], "only left": [], "only right": []}
    for step in steps:
        mine, theirs = (Counter(map(key, past.at(step))) for past in (left, right))
        for name, found in zip(counts, (mine & theirs, mine - theirs, theirs - mine)):
            counts[name].append(found.total())
    return counts


@dataclass(frozen=True)
class Pair:
    """A text of each side for the same place.

    Attributes:
        title: name of the place.
        left, right: the texts; None on a side without one.
    """

    title: str
    left: str | None
    right: str | None


def prompts(left: list[Row], right: list[Row]) -> list[Pair]:
    """The texts that two agents were shown in a step, by section and in order.

    Args:
        left, right: rows of ``agent.shown``.
    """
    sides = [_numbered(rows) for rows in (left, right)]
    return [
        Pair(name, sides[0].get(name), sides[1].get(name))
        for name in dict.fromkeys([*sides[0], *sides[1]])
    ]


def _numbered(rows: list[Row]) -> dict[str, str]:
    count: Counter[str] = Counter()
    found = {}
    for row in rows:
        name = row["section"] or row["layer"] or "memory"
        count[name] += 1
        found[name if count[name] == 1 else f"{name} ({count[name]})"] = row["text"]
    return {name: text or "" for name, text in found.items()}


def told(difference: Difference) -> list[Pair]:
    """A pair for each column that differs; if one side lacks the row, for all columns."""
    left, right = difference.left, difference.right
    names = difference.fields or tuple(
        name
        for name, value in (left or right or {}).items()
        if name not in _REPEATED and value not in (None, [], {})
    )
    sides = [
        [None if row is None else str(row.get(name))[:VALUE_CHARS] for name in names]
        for row in (left, right)
    ]
    return [Pair(*pair) for pair in zip(names, *sides)]


#: what else is known by step, and its label
KINDS = {
    "outcome": "{name}",
    "measure": "the study's measure {name}",
    "model": "the model's {name}",
}


def numbers(run: Run) -> dict[str, pd.Series]:
    """Numbers by step; known values only.

    First the agents' outcomes (``outcome:name``: the mean, or the agents with a value),
    then the measures of a study (``measure:name``), the model's variables
    (``model:name``) and ``SPENT``.
    """
    seen, spent = scene(run), cost.spent(run)
    found: dict[str, pd.Series] = {}
    for name in seen.classed:
        by = of_outcome(seen, name)
        for label, values in by.curves():
            told = f"agents with {name} {label}" if by.classes else label
            found[f"outcome:{told}"] = pd.Series(values, seen.steps)
    for name, known in reading.measured(run).items():
        if name not in seen.collected:
            found[f"measure:{name}"] = pd.Series(known)
    found |= {f"model:{n}": pd.Series(v, seen.steps) for n, v in seen.collected.items()}
    counts = {name: spent.counts[name].sum(axis=0).cumsum() for name in SPENT}
    found |= {name: pd.Series(values, spent.steps) for name, values in counts.items()}
    return {name: values.dropna() for name, values in found.items()}
