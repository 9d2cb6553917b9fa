"""The runs of a study that begin as a copy of another one, and the step of the fork.

Runs that are the same until something changes in one of them share all steps before it.
One of them makes these steps, and the others take them over: what is shared is paid for
once, however many levels a factor has.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mesa_memory.errors import StudyError
from mesa_memory.experiments.studies.arm import Arm
from mesa_memory.experiments.studies.design import Case
from mesa_memory.stores.copying import copy_beginning
from mesa_memory.stores.studies import CaseRow, Studies

#: steps with a checkpoint, and whether it stays, by number of the case
type Checkpoints = Mapping[int, Mapping[float, bool]]


@dataclass(frozen=True)
class Fork:
    """The point at which a run leaves another one.

    Attributes:
        case: number of the case that it begins as.
        step: the last one that they share.
    """

    case: int
    step: float


@dataclass
class _Branch:
    """One of several cases that begin alike.

    Attributes:
        checkpoints: steps after which it has one, and whether that stays.
        since: it will have a checkpoint of this step and of all later ones; None if it
            makes no more steps.
        changes: step, factor and label of its changes.
    """

    row: CaseRow
    case: Case
    checkpoints: Mapping[float, bool]
    since: float | None = None
    changes: frozenset[tuple[float, str, str]] = field(init=False)

    def __post_init__(self) -> None:
        self.changes = frozenset(
            (change.step, name, repr(self.case.labels[name]))
            for name, change in self.case.changes.items()
        )
        if self.checkpoints and self.row.due:
            self.since = max(self.checkpoints) + 1

    @property
    def new(self) -> bool:
        """It is to be made, and nothing of it is there."""
        return self.row.due and not self.checkpoints

    @property
    def order(self) -> tuple[list[float], int]:
        """Cases that change last are made first: the others share most with them."""
        steps = sorted(step for step, _, _ in self.changes)
        return [-step for step in (*steps, math.inf)], self.row.number

    def shares(self, other: "_Branch") -> float:
        """The last step that both have in common and that can be taken over; 0 if none."""
        apart = [step for step, _, _ in self.changes ^ other.changes]
        last = min([*apart, self.row.steps])
        if other.since is not None and other.since <= last:
            return last
        if other.row.ended and (other.row.done or 0) <= last:
            return last  # it ended by itself, as this one would
        stay = [step for step, stays in other.checkpoints.items() if stays]
        return max((step for step in stay if step <= last), default=0)


def check_changes(arms: Iterable[Arm], steps: float, recorded: bool) -> None:
    """Raises if changes begin too late, or in runs without a point to fork.

    Raises:
        ValueError: says which change it is.
    """
    for change in [change for arm in arms for change in arm.changes]:
        if change.step >= steps:
            raise ValueError(
                f"{change.label!r} begins after step {change.step}, but a run has only "
                f"{steps:g} steps: a change must come before the last one"
            )
        if not recorded:
            raise ValueError(
                f"{change.label!r} begins in the middle of a run, which needs "
                "record=True: its beginning is taken from a recorded run"
            )


def forks_of(
    study: Any, rows: Iterable[CaseRow], checkpoints: Checkpoints
) -> dict[str, Fork]:
    """The cases of a study that copy their first steps from another one, by key.

    Args:
        rows: cases in the store.
        checkpoints: of their runs.
    """
    alike: dict[str, list[_Branch]] = {}
    for row in rows if study.design.changing else ():
        if case := study.cases.get(row.key):
            branch = _Branch(row, case, checkpoints.get(row.number, {}))
            alike.setdefault(case.beginning, []).append(branch)
    found: dict[str, Fork] = {}
    for branches in alike.values():
        found |= _among(branches)
    return found


def _among(branches: list[_Branch]) -> dict[str, Fork]:
    """The forks of cases that begin alike; each has its own from one that is before it."""
    made = [branch for branch in branches if not branch.new]
    found = {}
    for new in sorted((b for b in branches if b.new), key=lambda b: b.order):
        best = max(made, key=new.shares, default=None)
        step = 0.0 if best is None else new.shares(best)
        if best is not None and step > 0:
            found[new.row.key] = Fork(best.row.number, step)
        new.since = max(step, 1)
        made.append(new)
    return found


def take_over(studies: Studies, study: int, fork: Fork, run: int) -> None:
    """Lets a run begin as that of another case.

    Args:
        run: its id; it is empty.

    Raises:
        StudyError: if the other one has not come so far.
        StoreError: if the store fails.
    """
    other, step = studies.case(study, fork.case), fork.step
    if other.ended and other.done is not None:
        step = min(step, other.done)
    if other.run is None or step not in studies.checkpoints(study).get(fork.case, {}):
        why = f"{other.state}: {other.error}" if other.error else other.state
        raise StudyError(
            f"it begins as case {fork.case} up to step {step:g}, which that one has not "
            f"finished ({why}). study.run() tries both again."
        )
    copy_beginning(studies.store, other.run, run, step)
