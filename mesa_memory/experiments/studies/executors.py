"""Makes the cases of a study: in processes of this machine, or any executor."""

import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from functools import partial
from itertools import islice
from typing import Any, Protocol

from mesa_memory.errors import NotPicklable
from mesa_memory.experiments.studies.open_stores import stores
from mesa_memory.experiments.studies.processes import Processes
from mesa_memory.experiments.studies.worker import (
    LOST_WORKER,
    Job,
    JobOutcome,
    run_apart,
    run_job,
)

#: jobs that an executor of somebody else has at a time
MAX_QUEUED_JOBS = 1000
SERIAL = "serial"


class Workers(Protocol):
    """Makes jobs and gives their outcomes as they come."""

    def outcomes(self, jobs: Sequence[Job]) -> Iterator[JobOutcome]:
        """Each job has one outcome."""


class Serial:
    """One run after the other, in this process."""

    def outcomes(self, jobs: Sequence[Job]) -> Iterator[JobOutcome]:
        """See ``Workers``."""
        try:
            for job in jobs:
                yield run_job(job)
        finally:
            stores.close()


class Futures:
    """An executor of ``concurrent.futures``, of Dask or of mpi4py.

    Args:
        executor: has ``submit``, which gives futures of ``concurrent.futures``.
    """

    def __init__(self, executor: Any) -> None:
        self.executor = executor

    def outcomes(self, jobs: Sequence[Job]) -> Iterator[JobOutcome]:
        """See ``Workers``."""
        waiting, under_way = iter(jobs), {}
        stop, make = threading.Event(), run_apart
        here = isinstance(self.executor, ThreadPoolExecutor)
        if here:  # only what runs in this process can be told to stop
            make = partial(run_job, stopping=stop.is_set)
        try:
            for job in islice(waiting, MAX_QUEUED_JOBS):
                under_way[self.executor.submit(make, job)] = job
            while under_way:
                ended, _ = wait(under_way, return_when=FIRST_COMPLETED)
                for future in ended:
                    yield _outcome(future, under_way.pop(future))
                for job in islice(waiting, len(ended)):
                    under_way[self.executor.submit(make, job)] = job
        finally:
            stop.set()
            for future in under_way:
                future.cancel()
            if here:
                wait(under_way)
                stores.close()


def _outcome(future: Any, job: Job) -> JobOutcome:
    """The outcome of a future; a worker that has died is an outcome, too."""
    error = future.exception()
    if error is None:
        return future.result()
    said = (
        f"WorkerLost: the worker that made this run is gone ({type(error).__name__}: "
    )
    advice = "). What was recorded is kept, and study.run() goes on from there."
    return JobOutcome(job.number, LOST_WORKER, f"{said}{error}{advice}")


def workers_of(executor: Any) -> Workers:
    """The workers that a user chose.

    Args:
        executor: None is ``Processes()``; a number is that of processes; ``"serial"``;
            ``Processes``; or an executor, an object with ``submit``.

    Raises:
        TypeError: for anything else.
    """
    if executor is None:
        return Processes()
    if isinstance(executor, int) and not isinstance(executor, bool):
        return Processes(executor)
    if executor == SERIAL:
        return Serial()
    if hasattr(executor, "outcomes"):
        return executor
    if hasattr(executor, "submit"):
        return Futures(executor)
    raise TypeError(
        "executor must be None (a process for each processor), a number of processes, "
        "'serial', Processes(…), or an executor such as "
        f"distributed.Client(…).get_executor(), got {executor!r}"
    )


def check_picklable(workers: Workers, jobs: Sequence[Job]) -> None:
    """Raises if workers in other processes could not be told what to make.

    Raises:
        NotPicklable: names the part.
    """
    packed = _packing(workers)
    if packed is None:
        return
    checked: set[int] = set()
    for job in jobs:
        for name, value in job.parts:
            if id(value) not in checked:
                checked.add(id(value))
                _check(name, value, packed)
    for job in jobs[:1]:
        _check("the run", job, packed)


def _packing(workers: Workers) -> Callable[[Any], bytes] | None:
    """Packs a job for workers in other processes; None if they take any object."""
    executor = workers.executor if isinstance(workers, Futures) else None
    if isinstance(workers, Processes) or isinstance(executor, ProcessPoolExecutor):
        return pickle.dumps
    if any(kind.__module__.startswith("mpi4py.") for kind in type(executor).__mro__):
        from mpi4py import MPI

        return MPI.pickle.dumps  # a program may have put something else in its place
    return None  # Dask sends more than pickle can; threads need not send


def _check(name: str, value: Any, packed: Callable[[Any], bytes]) -> None:
    try:
        packed(value)
    except Exception as error:  # an object's own way to be pickled may do anything
        raise NotPicklable(
            f"{name} ({value!r:.80}) cannot be sent to a worker process: {error}. Use a "
            "function or class that stands at the top of a module, not a lambda or one "
            "inside a function; or run it in this process: study.run('serial').",
            name=name,
        ) from error
