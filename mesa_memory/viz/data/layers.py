"""How full the memories of a whole population are, as counts that grow with the run."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mesa_memory.runs import Run
from mesa_memory.viz.data import reading

#: number of newest steps that are read again for records that have ended
REREAD_STEPS = 12

type Changes = dict[tuple[str, str], np.ndarray]


@dataclass(frozen=True)
class Layers:
    """How many records came and went in each step, by layer and kind.

    Attributes:
        ends: the finished steps, and the last ``seq`` of each.
        whole: no step was being written; then there may be records after the last one.
        opened, closed: by layer and kind, shape (steps + 1,): what came or went between
            two steps counts to the later one, what came after the last is at the end.
    """

    ends: list[tuple[float, int]]
    whole: bool
    opened: Changes
    closed: Changes

    @property
    def steps(self) -> list[float]:
        """The finished steps."""
        return [step for step, _ in self.ends]

    @property
    def series(self) -> list[dict[str, Any]]:
        """Name, layer, kind, and how many there were at the end of each step."""
        none = np.zeros(len(self.ends) + 1, dtype=np.int64)
        found = []
        for layer, kind in sorted(self.opened.keys() | self.closed.keys()):
            key = layer, kind
            changes = self.opened.get(key, none) - self.closed.get(key, none)
            own = {"name": f"{layer}: {kind}", "layer": layer, "kind": kind}
            found.append(own | {"counts": np.cumsum(changes[:-1]).tolist()})
        return found


def occupancy(run: Run, before: Layers | None = None) -> Layers:
    """How many records each layer held at the end of each step, by kind.

    Args:
        before: what was found earlier; then only what is new is read.
    """
    whole = run.status != "running"
    ends = reading.ends(run)
    old = before if before and _goes_on(before, ends) else Layers([], False, {}, {})
    times = np.array([step for step, _ in ends])
    known = len(old.ends)
    # A new record has a higher number than all others; but any of them may have ended,
    # and some steps late.
    first = max(0, known - REREAD_STEPS)
    since = ends[first - 1][0] if first else float("-inf")
    after = ends[known - 1][1] if known else -1
    until = ends[-1][1] if ends and not whole else None
    opened = _longer(old.opened, known, len(ends))
    closed = _longer(old.closed, first, len(ends))
    for changes, rows in (
        (opened, reading.opened(run, after, until)),
        (closed, reading.closed(run, since)),
    ):
        for layer, kind, step, count in rows:
            changes[layer, kind][np.searchsorted(times, step)] += count
    return Layers(ends, whole, dict(opened), dict(closed))


def _goes_on(before: Layers, ends: list[tuple[float, int]]) -> bool:
    """True if only what is new need be read: the run was not taken back meanwhile."""
    return not before.whole and ends[: len(before.ends)] == before.ends


def _longer(
    known: Mapping[tuple[str, str], np.ndarray], kept: int, steps: int
) -> Changes:
    """Numbers for this count of steps, of which the first ones are known."""
    longer: Changes = defaultdict(lambda: np.zeros(steps + 1, dtype=np.int64))
    for key, numbers in known.items():
        longer[key][:kept] = numbers[:kept]
    return longer
