"""Makes what is missing of a study: gives the jobs to workers, and takes what they say."""

import time
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from mesa_memory.errors import (
    BudgetExceeded,
    StoreUnavailable,
    StudyChanged,
    WorkerLost,
)
from mesa_memory.experiments.studies.executors import Workers
from mesa_memory.experiments.studies.fingerprint import differences
from mesa_memory.experiments.studies.progress import Progress
from mesa_memory.experiments.studies.worker import (
    BUSY,
    CHANGED,
    LOST,
    LOST_WORKER,
    Job,
    Outcome,
)
from mesa_memory.stores.studies import FAILED, Studies

if TYPE_CHECKING:
    from mesa_memory.experiments.studies.study import Study

#: seconds after which a case that another process makes is looked at again
BUSY_S = 1.0
INTERRUPTED = "the study was interrupted; study.run() goes on from there"


def make(
    study: "Study",
    studies: Studies,
    number: int,
    workers: Workers,
    jobs: Sequence[Job],
    bar: Progress,
) -> None:
    """Makes all jobs; those that begin as another one, when that one has been made.

    Args:
        number: of the study in the store.

    Raises:
        BudgetExceeded, StoreUnavailable, StudyChanged, WorkerLost: see ``Study.run``.
    """
    try:
        _make(study, studies, number, workers, jobs, bar)
    except WorkerLost as error:
        _check_code(study, jobs, error)
        raise
    except KeyboardInterrupt:  # without the frames of all that waited
        raise KeyboardInterrupt(INTERRUPTED) from None


def _make(
    study: "Study",
    studies: Studies,
    number: int,
    workers: Workers,
    jobs: Sequence[Job],
    bar: Progress,
) -> None:
    left = {job.number: job for job in jobs}
    while left:
        ready = [
            job
            for job in left.values()
            if job.fork is None or job.fork.case not in left
        ]
        busy = set()
        with closing(workers.outcomes(ready)) as outcomes:  # type: ignore[type-var]
            for outcome in outcomes:
                if outcome.state == BUSY:
                    busy.add(outcome.number)
                    continue
                bar.add(outcome)
                if outcome.state == LOST_WORKER:
                    _check_code(study, jobs)
                _take(study, studies, number, outcome)
        for job in ready:
            if job.number not in busy:
                del left[job.number]
        if busy:  # another process makes them now, or a worker of it was killed
            time.sleep(BUSY_S)


def _check_code(
    study: "Study", jobs: Sequence[Job], error: Exception | None = None
) -> None:
    """Raises if the code has changed, so that workers perhaps cannot load it."""
    now = study.fingerprint
    for job in jobs[:1]:
        before = dict(job.compared)
        if found := differences(before, {part: now[part] for part in before}):
            raise _code_changed(study, found) from error


def _code_changed(study: "Study", found: Sequence[str]) -> StudyChanged:
    """The error of a study whose code was changed while it ran."""
    return StudyChanged(
        f"while the study {study.name!r} ran, its code was changed: {'; '.join(found)}. "
        "Runs with both versions would be in one table. What is finished is kept. Undo "
        "the changes and call study.run() again, or begin a study of another name.",
        differences=tuple(found),
    )


def _take(study: "Study", studies: Studies, number: int, outcome: Outcome) -> None:
    if outcome.state == LOST:
        raise StoreUnavailable(
            f"a worker cannot use the store: {outcome.error}. What was written "
            "before is kept; study.run() goes on from there.",
            location=study.location,
        )
    if outcome.budget:
        left = sum(case.due for case in studies.cases(number))
        raise BudgetExceeded(
            f"the budget of the study {study.name!r} is used up, and {left} of its "
            f"runs are not finished: {outcome.error}. What was recorded is kept; "
            "study.run(budget=Budget(…)) with another one goes on from there."
        )
    if outcome.state == CHANGED:
        raise _code_changed(study, outcome.differences)
    if outcome.state == LOST_WORKER:
        error = {"state": FAILED, "error": outcome.error}
        studies.settle(number, outcome.number, **error)
