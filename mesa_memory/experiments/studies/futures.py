"""Makes jobs by any executor that has ``submit``."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from itertools import islice
from typing import Any

from mesa_memory.errors import NotPicklable
from mesa_memory.experiments.studies.worker import LOST_WORKER, Job, JobOutcome

#: jobs that an executor has at a time
MAX_QUEUED_JOBS = 1000


def outcomes_of(
    executor: Any,
    call: Callable[[Job], tuple],
    jobs: Sequence[Job],
    end: Callable[[Any], None] = lambda under_way: None,
    raised: type[Exception] = NotPicklable,
) -> Iterator[JobOutcome]:
    """Makes all jobs; gives each outcome as it comes.

    Args:
        executor: its ``submit`` gives futures of ``concurrent.futures``.
        call: gives the function that makes a job in a worker, and its arguments.
        end: called at the end, with the futures of jobs that have not finished.
        raised: errors in a worker that end the study. After others, the worker counts
            as dead.
    """
    waiting, under_way = iter(jobs), {}
    try:
        for job in islice(waiting, MAX_QUEUED_JOBS):
            under_way[executor.submit(*call(job))] = job
        while under_way:
            ended, _ = wait(under_way, return_when=FIRST_COMPLETED)
            # in order of jobs: of several failures, the first job's ends the study
            for future in [each for each in under_way if each in ended]:
                job = under_way.pop(future)
                if isinstance(future.exception(), raised):
                    future.result()
                yield _outcome(future, job)
            for job in islice(waiting, len(ended)):
                under_way[executor.submit(*call(job))] = job
    finally:
        for future in under_way:
            future.cancel()
        end(under_way)


def _outcome(future: Any, job: Job) -> JobOutcome:
    """The outcome of a future; a worker that has died is an outcome, too."""
    error = future.exception()
    if error is None:
        return future.result()
    return JobOutcome(
        job.number,
        LOST_WORKER,
        f"WorkerLost: the worker that made this run is gone ({type(error).__name__}: "
        f"{error}). Records are kept, and study.run() continues from there.",
    )
