"""Makes the cases of a study: in processes of this machine, or any executor."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, wait
from functools import partial
from typing import Any

import cloudpickle

from mesa_memory.experiments.studies.futures import outcomes_of
from mesa_memory.experiments.studies.packing import Dumps, Part, local_dumps, unpacked
from mesa_memory.experiments.studies.processes import Processes
from mesa_memory.experiments.studies.worker import Job, JobOutcome, run_apart, run_job

SERIAL = "serial"


class Serial:
    """One run after the other, in this process."""

    def dumps(self, parts: Sequence[Part]) -> Dumps | None:
        """Pickles jobs of these parts for the workers; None if they are not sent."""
        return None

    def outcomes(
        self, jobs: Sequence[Job], stage: Callable[[str], None]
    ) -> Iterator[JobOutcome]:
        """Makes all jobs; gives each outcome as it comes.

        Args:
            stage: is told what the workers do, in a few words.
        """
        stage("running")
        for job in jobs:
            yield run_job(job)


class Futures:
    """An executor of ``concurrent.futures``, of Dask or of mpi4py.

    Args:
        executor: has ``submit``, which gives futures of ``concurrent.futures``.
    """

    def __init__(self, executor: Any) -> None:
        self.executor = executor

    def dumps(self, parts: Sequence[Part]) -> Dumps | None:
        """See ``Serial``."""
        if isinstance(self.executor, ThreadPoolExecutor):
            return None
        if isinstance(self.executor, ProcessPoolExecutor):
            return local_dumps(parts)
        if any(k.__module__.startswith("mpi4py.") for k in type(self.executor).__mro__):
            from mpi4py import MPI

            return (
                MPI.pickle.dumps
            )  # a program may have put something else in its place
        return cloudpickle.dumps  # as Dask does

    def outcomes(
        self, jobs: Sequence[Job], stage: Callable[[str], None]
    ) -> Iterator[JobOutcome]:
        """See ``Serial``."""
        stage(f"sent to {type(self.executor).__name__}")
        if dumps := self.dumps([part for job in jobs for part in job.parts]):
            return outcomes_of(
                self.executor, lambda job: (run_packed, job.run_name, dumps(job)), jobs
            )
        stop = threading.Event()  # only what runs in this process can be told to stop

        def end(under_way: Any) -> None:
            stop.set()
            wait(under_way)

        make = partial(run_job, stopping=stop.is_set)
        return outcomes_of(self.executor, lambda job: (make, job), jobs, end)


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


def run_packed(run: str, packed: bytes) -> JobOutcome:
    """``run_apart`` for a job as ``unpacked`` takes it."""
    return run_apart(unpacked(run, packed))
