"""Makes the cases of a study: in processes of this machine, or any executor."""

import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, wait
from functools import partial
from typing import Any

from mesa_memory.errors import NotPicklable
from mesa_memory.experiments.studies.futures import outcomes_of
from mesa_memory.experiments.studies.processes import Processes
from mesa_memory.experiments.studies.worker import Job, JobOutcome, run_apart, run_job

SERIAL = "serial"


class Serial:
    """One run after the other, in this process."""

    def outcomes(self, jobs: Sequence[Job]) -> Iterator[JobOutcome]:
        """Makes all jobs; gives each outcome as it comes."""
        for job in jobs:
            yield run_job(job)


class Futures:
    """An executor of ``concurrent.futures``, of Dask or of mpi4py.

    Args:
        executor: has ``submit``, which gives futures of ``concurrent.futures``.
    """

    def __init__(self, executor: Any) -> None:
        self.executor = executor

    def outcomes(self, jobs: Sequence[Job]) -> Iterator[JobOutcome]:
        """See ``Serial``."""
        if not isinstance(self.executor, ThreadPoolExecutor):
            return outcomes_of(self.executor, run_apart, jobs)
        stop = threading.Event()  # only what runs in this process can be told to stop

        def end(under_way: Any) -> None:
            stop.set()
            wait(under_way)

        make = partial(run_job, stopping=stop.is_set)
        return outcomes_of(self.executor, make, jobs, end)


def workers_of(executor: Any) -> Any:
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


def check_picklable(workers: Any, jobs: Sequence[Job]) -> None:
    """Raises if the jobs cannot be sent to other processes.

    Raises:
        NotPicklable: names the part.
    """
    packed = _packing(workers)
    if packed is None:
        return
    parts = {id(value): (name, value) for job in jobs for name, value in job.parts}
    for name, value in [*parts.values(), *(("the run", job) for job in jobs[:1])]:
        _check(name, value, packed)


def _packing(workers: Any) -> Callable[[Any], bytes] | None:
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
