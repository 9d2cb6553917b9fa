"""Makes what is missing of a study: gives the jobs to workers, and takes what they say."""

import time
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from mesa_memory.errors import BudgetExceeded, StoreUnavailable
from mesa_memory.experiments.executors import Workers
from mesa_memory.experiments.progress import Progress
from mesa_memory.experiments.worker import BUSY, LOST, LOST_WORKER, Job, Outcome
from mesa_memory.stores.studies import FAILED, Studies

if TYPE_CHECKING:
    from mesa_memory.experiments.study import Study

#: seconds after which a case that another process makes is looked at again
BUSY_S = 1.0


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
        BudgetExceeded, StoreUnavailable: see ``Study.run``.
    """
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
                _take(study, studies, number, outcome)
        for job in ready:
            if job.number not in busy:
                del left[job.number]
        if busy:  # another process makes them now, or a worker of it was killed
            time.sleep(BUSY_S)


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
    if outcome.state == LOST_WORKER:
        error = {"state": FAILED, "error": outcome.error}
        studies.settle(number, outcome.number, **error)
