"""Two memories side by side: what both have, what only one has, and since when."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from mesa_memory.runs import Run
from mesa_memory.runs.compare import Difference, Parting
from mesa_memory.viz.data.agent import Past, Row

#: where a record is
BOTH, ONLY = "both", "one"
#: characters of a value that is shown of a difference
LONG = 20_000
#: columns of a row that say where it stands, or again what another one says
_ELSEWHERE = ("step", "seq", "agent", "content")


def key(row: Row) -> tuple[str, str]:
    """By what records of two memories are the same: kind and text, not when they came.

    So agents, layers and runs can be compared that name their records differently.
    """
    # As it was recorded; writing each event out again would take much longer.
    return row["kind"], row["text"] or ""


def marked(mine: list[Row], theirs: list[Row]) -> list[Row]:
    """My records, each with ``held by``: ``BOTH`` or ``ONLY``, those first.

    A text that I have twice and they once is once ``ONLY``.
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
    """How far two memories are apart, step by step.

    Attributes:
        steps: those that both runs have finished.
        both, left, right: for each step, how many records both have, and how many only
            one of them.
        first: the first step at which they differ; None if there is none.
    """

    steps: list[float]
    both: list[int]
    left: list[int]
    right: list[int]
    first: float | None


def course(left: Past, right: Past, steps: list[float]) -> Course:
    """How far two memories are apart at each of these steps."""
    changes = sorted(
        [*_changes(left.rows, 0), *_changes(right.rows, 1)], key=lambda one: one[0]
    )
    held: Counter[tuple] = Counter()
    sums, counts, place = [0, 0, 0], [], 0
    for step in steps:
        while place < len(changes) and changes[place][0] <= step:
            _, side, same, change = changes[place]
            _add(sums, _parts(held, same), -1)
            held[side, same] += change
            _add(sums, _parts(held, same), 1)
            place += 1
        counts.append(tuple(sums))
    apart = (step for step, (_, a, b) in zip(steps, counts) if a or b)
    both, mine, theirs = ([one[n] for one in counts] for n in range(3))
    return Course(steps, both, mine, theirs, next(apart, None))


def _changes(rows: Iterable[Row], side: int) -> Iterable[tuple[float, int, tuple, int]]:
    """When a side gets and loses records."""
    for row in rows:
        same = key(row)
        yield row["valid_from"], side, same, 1
        if row["valid_to"] is not None:
            yield row["valid_to"], side, same, -1


def _parts(held: Counter[tuple], same: tuple) -> tuple[int, int, int]:
    """How many of equal records both have, and only one."""
    mine, theirs = held[0, same], held[1, same]
    both = min(mine, theirs)
    return both, mine - both, theirs - both


def _add(sums: list[int], parts: tuple[int, int, int], sign: int) -> None:
    for n, value in enumerate(parts):
        sums[n] += sign * value


@dataclass(frozen=True)
class Pair:
    """A text of each side that stands in the same place.

    Attributes:
        title: of what.
        left, right: the texts; None if this side has none.
    """

    title: str
    left: str | None
    right: str | None


def prompts(left: list[Row], right: list[Row]) -> list[Pair]:
    """What the two were shown in a step, by what it is for and in order.

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
    """Where two runs part.

    Args:
        run, other: of any store.
        stamp: the state of ``other``, so that its next one is compared anew.
    """
    return run.parting(other)


def told(difference: Difference) -> list[Pair]:
    """What differs, a pair for each column; if one side has no row, what it lacks."""
    left, right = difference.left, difference.right
    names = difference.fields or tuple(
        name
        for name, value in (left or right or {}).items()
        if name not in _ELSEWHERE and value not in (None, [], {})
    )
    return [Pair(name, _value(left, name), _value(right, name)) for name in names]


def whose(difference: Difference) -> str | None:
    """The agent, by its name in the store, to whom the difference belongs."""
    row = difference.left or difference.right or {}
    return row.get("agent")


def _value(row: Row | None, name: str) -> str | None:
    if row is None:
        return None
    value = row.get(name)
    return str(value)[:LONG]
