"""Two memories side by side: records of both, and records of only one."""

from collections import Counter
from dataclasses import dataclass

from mesa_memory.runs import Run
from mesa_memory.runs.compare import Difference, Parting
from mesa_memory.viz.data.agent import Past, Row

#: values of ``held by``
BOTH, ONLY = "both", "one"
#: longest value of a difference, in characters
VALUE_CHARS = 20_000
#: columns that every row has, or that repeat another one
_REPEATED = ("step", "seq", "agent", "content")


def key(row: Row) -> tuple[str, str]:
    """Kind and text of a record: agents, layers and runs name equal records differently."""
    return row["kind"], row["text"] or ""


def marked(mine: list[Row], theirs: list[Row]) -> list[Row]:
    """My records, each with ``held by``: first ``ONLY``, then ``BOTH``.

    A text that I hold twice and they hold once is ``ONLY`` once.
    """
    left = Counter(key(row) for row in theirs)
    found = []
    for row in mine:
        same = key(row)
        found.append(row | {"held by": BOTH if left[same] > 0 else ONLY})
        left[same] -= 1
    return sorted(found, key=lambda row: row["held by"] == BOTH)


@dataclass(frozen=True)
class Course:
    """Difference of two memories, step by step.

    Attributes:
        steps: finished steps of both runs.
        both, left, right: at each step, the number of records in both memories, and in
            one of them only.
        first: the first step at which they differ; None if they never do.
    """

    steps: list[float]
    both: list[int]
    left: list[int]
    right: list[int]
    first: float | None


def course(left: Past, right: Past, steps: list[float]) -> Course:
    """Difference of two memories at each of these steps."""
    counts = []
    for step in steps:
        mine, theirs = (Counter(map(key, past.at(step))) for past in (left, right))
        shared = (mine & theirs).total()
        counts.append((shared, mine.total() - shared, theirs.total() - shared))
    apart = (step for step, (_, a, b) in zip(steps, counts) if a or b)
    both, only_left, only_right = ([one[n] for one in counts] for n in range(3))
    return Course(steps, both, only_left, only_right, next(apart, None))


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


def parting(run: Run, other: Run, stamp: tuple) -> Parting:
    """The first difference of two runs.

    Args:
        run, other: of any store.
        stamp: the state of ``other``, so that its next one is compared anew.
    """
    return run.parting(other)


def told(difference: Difference) -> list[Pair]:
    """A pair for each column that differs; if one side lacks the row, for all columns."""
    left, right = difference.left, difference.right
    names = difference.fields or tuple(
        name
        for name, value in (left or right or {}).items()
        if name not in _REPEATED and value not in (None, [], {})
    )
    return [Pair(name, _value(left, name), _value(right, name)) for name in names]


def whose(difference: Difference) -> str | None:
    """The agent of a difference, by its name in the store."""
    row = difference.left or difference.right or {}
    return row.get("agent")


def _value(row: Row | None, name: str) -> str | None:
    if row is None:
        return None
    value = row.get(name)
    return str(value)[:VALUE_CHARS]
