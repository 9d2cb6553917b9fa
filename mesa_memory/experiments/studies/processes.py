"""Worker processes of this machine, each of which makes one run at a time.

A worker that dies takes nothing with it but its own run, which another one goes on
with. They are started by ``spawn``: no worker has threads or locks of this process.
"""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import RLock
from typing import Any

from mesa_memory.core.validate import checked_int
from mesa_memory.errors import NotPicklable, WorkerLost
from mesa_memory.experiments.studies.futures import outcomes_of
from mesa_memory.experiments.studies.packing import Dumps, Part, local_dumps, unpacked
from mesa_memory.experiments.studies.worker import (
    LOST_WORKER,
    Job,
    JobOutcome,
    run_apart,
    steps_done,
)
from mesa_memory.stores.studies import STOPPED

#: message of a worker that has loaded the program or its job, and to one that is to end
READY, STOP = b"ready", b"stop"
#: deaths of its workers without a further step, after which a case counts as failed
MAX_WORKER_DEATHS = 3
#: starts in a row that fail, after which the study ends
MAX_FAILED_STARTS = 3
#: seconds that workers have to end their step after an interrupt
GRACE_S = 60.0
#: seconds that a worker has to end its process
EXIT_S = 10.0


@dataclass(frozen=True)
class Processes:
    """Worker processes on this machine.

    Attributes:
        workers: how many; None is one for each processor.
    """

    workers: int | None = None

    def __post_init__(self) -> None:
        if self.workers is not None:
            checked_int("workers", self.workers)

    def dumps(self, parts: Sequence[Part]) -> Dumps:
        """Pickles jobs of these parts for the workers."""
        return local_dumps(parts)

    def outcomes(
        self, jobs: Sequence[Job], stage: Callable[[str], None]
    ) -> Iterator[JobOutcome]:
        """Makes all jobs; gives each outcome as it comes.

        Args:
            stage: is told what the workers do, in a few words.

        Raises:
            WorkerLost: if several workers in a row end before they could begin.
            NotPicklable: if a worker cannot load a job.
        """

        def started() -> None:
            stage(f"{sum(each.began for each in workers)} of {number} workers")

        dumps = self.dumps([part for job in jobs for part in job.parts])
        number = len(jobs[: self.workers or _processors()])
        workers = [_Worker(dumps, started) for _ in range(number)]
        idle: SimpleQueue[_Worker] = SimpleQueue()
        for worker in workers:
            idle.put(worker)

        def make(job: Job) -> JobOutcome:
            worker = idle.get()
            try:
                return worker.make(job)
            finally:
                idle.put(worker)

        def end(under_way: Any) -> None:
            for worker in workers:
                worker.stop()
            try:
                wait(under_way, GRACE_S)
            finally:  # after the grace period, or at a second Ctrl-C
                for worker in workers:
                    worker.kill()

        stage(f"starting {number} worker{'s' * (number > 1)}")
        resource_tracker.ensure_running()  # its own start would unblock the signal
        try:
            with ThreadPoolExecutor(len(workers), initializer=_block_sigint) as threads:
                yield from outcomes_of(
                    threads, lambda job: (make, job), jobs, end, Exception
                )
        finally:
            for worker in workers:
                worker.end()


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (
        os.cpu_count() or 1
    )  # fmt: skip


def _block_sigint() -> None:
    """Processes that this thread starts are not interrupted while they load."""
    if hasattr(signal, "pthread_sigmask"):  # not on Windows
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


class _Worker:
    """A process, which is started again if it dies.

    One thread calls ``make``. Another one may call ``stop`` and ``kill`` meanwhile.
    """

    def __init__(self, dumps: Dumps, on_start: Callable[[], None]) -> None:
        self.dumps, self.on_start = dumps, on_start
        self.process: Any = None
        self.connection: Any = None
        self.ready = self.stopped = False
        self.loading = False  # its job
        self.began = False  # it has loaded a job at least once

    def make(self, job: Job) -> JobOutcome:
        """Makes a job; if the process dies, another one goes on with it."""
        deaths, reached = 0, -1.0
        while deaths < MAX_WORKER_DEATHS:
            if not self.ready and not self.stopped:
                self._start()
            if self.stopped:
                return JobOutcome(job.number, STOPPED)
            try:
                return self._answer(job)
            except (EOFError, OSError):
                code = self.end()
            done = steps_done(job)
            deaths = 1 if done > reached else deaths + 1
            reached = max(reached, done)
        return JobOutcome(job.number, LOST_WORKER, _killed(code))

    def _answer(self, job: Job) -> JobOutcome:
        """Sends a job, and waits for its outcome."""
        self.loading = True
        self.connection.send((job.run_name, self.dumps(job)))
        loaded = self.connection.recv()
        self.loading = False
        if isinstance(loaded, NotPicklable):
            raise loaded
        if not self.began:
            self.began = True
            self.on_start()
        return self.connection.recv()

    def _start(self) -> None:
        """Starts the process, and waits until it has loaded the program.

        Raises:
            WorkerLost: if it ends before, and another one would, too.
        """
        context = multiprocessing.get_context("spawn")
        for number in count(1):
            self.connection, theirs = context.Pipe()
            process = context.Process(target=serve, args=(theirs,), daemon=True)
            process.start()
            self.process = process
            theirs.close()
            try:
                self.connection.recv()
                self.ready = True
                return
            except (EOFError, OSError):
                code = self.end()
            hopeless = self.stopped or not (code < 0 or self.began)
            if hopeless or number == MAX_FAILED_STARTS:
                raise WorkerLost(_not_ready(code, number))

    def stop(self) -> None:
        """Ends a busy process after its step, one that loads something at once."""
        self.stopped = True
        if self.ready and not self.loading:
            with suppress(OSError):  # it has died
                self.connection.send(STOP)
        else:
            self.kill()

    def kill(self) -> None:
        """Ends the process at once."""
        if process := self.process:
            process.kill()

    def end(self) -> int:
        """Ends the process, if there is one; its exit code, negative for a signal."""
        process, self.process, self.ready, self.loading = (
            self.process,
            None,
            False,
            False,
        )
        if process is None:
            return 0
        process.join(EXIT_S)
        process.kill()
        process.join()
        self.connection.close()
        return process.exitcode


def serve(connection: Connection) -> None:
    """Makes the runs that a worker is given, until it is told to stop."""
    from tqdm import tqdm

    # Its own lock is a semaphore of the system, which a killed worker leaves behind.
    tqdm.set_lock(RLock())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the study says when to stop
    if hasattr(signal, "pthread_sigmask"):  # blocked until here, see _block_sigint
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    with suppress(EOFError, ConnectionError):  # the study has died
        connection.send(READY)
        while (sent := connection.recv()) != STOP:
            try:
                job = unpacked(*sent)
            except NotPicklable as error:
                connection.send(error)
                continue
            connection.send(READY)
            # A message that comes before the answer can only be STOP.
            connection.send(run_apart(job, connection.poll))


def _not_ready(code: int, number: int) -> str:
    if code < 0:
        return (
            f"{number} workers in a row were killed before they could begin (the last "
            f"by {_end(code)}), most often because the machine is out of memory. Give "
            "it fewer workers: study.run(2). Finished runs are kept, and study.run() "
            "continues from there."
        )
    return (
        f"a worker ended before it could begin ({_end(code)}); its output has "
        "the reason. Each worker loads the program that starts it: put the call of "
        "study.run() under if __name__ == '__main__'. Or run it without workers: "
        "study.run('serial')."
    )


def _end(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def _killed(code: int) -> str:
    return (
        f"WorkerLost: {MAX_WORKER_DEATHS} workers ended while they made this run (the last by "
        f"{_end(code)}), most often because the machine is out of memory. Give it fewer "
        "workers: study.run(2). Records are kept, and study.run() continues from "
        "there."
    )
