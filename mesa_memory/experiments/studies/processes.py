"""Worker processes of this machine, each of which makes one or several runs at a time.

A worker that dies takes nothing with it but its own runs, which another one goes on
with. They are started by ``spawn``: no worker has threads or locks of this process.
"""

import multiprocessing
import os
import pickle
import signal
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any

from mesa_memory.core.validate import checked_int
from mesa_memory.errors import WorkerLost
from mesa_memory.experiments.studies.open_stores import stores
from mesa_memory.experiments.studies.worker import (
    LOST_WORKER,
    Job,
    JobOutcome,
    run_apart,
    steps_done,
)

#: what a worker says when it has loaded what it needs; and is told when it is to end
READY, STOP = b"ready", b"stop"
#: deaths of its workers without a further step, after which a case counts as failed
MAX_WORKER_DEATHS = 3
#: workers in a row that end before they are ready, after which the study ends
MAX_FAILED_STARTS = 3
#: seconds that workers have to end their step after an interrupt
GRACE_S = 60.0


@dataclass(frozen=True)
class Processes:
    """Worker processes on this machine.

    Attributes:
        workers: how many; None is one for each processor.
        runs_at_once: runs in each of them, each in a thread: while one waits for a
            language model, the others go on.
    """

    workers: int | None = None
    runs_at_once: int = 1

    def __post_init__(self) -> None:
        if self.workers is not None:
            checked_int("workers", self.workers)
        checked_int("runs_at_once", self.runs_at_once)

    def outcomes(self, jobs: Sequence[Job]) -> Iterator[JobOutcome]:
        """Makes all jobs; gives each outcome as it comes.

        Raises:
            WorkerLost: if several workers in a row end before they could begin.
        """
        count = min(self.workers or _processors(), -(-len(jobs) // self.runs_at_once))
        pool = _Pool(self.runs_at_once, jobs)
        try:
            pool.start(count)
            while not pool.done:
                yield from pool.next()
        finally:
            pool.end()


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (
        os.cpu_count() or 1
    )  # fmt: skip


class _Pool:
    """The workers and what each is making."""

    def __init__(self, runs_at_once: int, jobs: Sequence[Job]) -> None:
        self.runs_at_once = runs_at_once
        self.waiting = deque(jobs)
        self.deaths: Counter[int] = Counter()
        self.reached: dict[int, float] = {}
        self.workers: list[_Worker] = []
        self.began = False  # a worker was ready at least once
        self.lost_starts = 0  # since a worker was ready

    def start(self, count: int) -> None:
        """Starts the workers."""
        for _ in range(count):
            self.workers.append(_Worker(self.runs_at_once))

    @property
    def done(self) -> bool:
        """True if nothing is left to make."""
        return not self.waiting and not any(worker.jobs for worker in self.workers)

    def next(self) -> list[JobOutcome]:
        """Waits for something to happen; what has ended by then."""
        for free in range(self.runs_at_once):
            for worker in self.workers:  # the runs are spread over all of them
                if self.waiting and len(worker.jobs) <= free:
                    worker.give(self.waiting.popleft())
        found: list[JobOutcome] = []
        heard = wait([worker.connection for worker in self.workers])
        for place, worker in enumerate(self.workers):
            if worker.connection in heard:
                found += self._heard(place, worker)
        return found

    def _heard(self, place: int, worker: "_Worker") -> list[JobOutcome]:
        try:
            said = worker.connection.recv_bytes()
        except (EOFError, OSError):
            return self._died(place, worker)
        if said == READY:
            worker.ready, self.began, self.lost_starts = True, True, 0
            return []
        outcome = pickle.loads(said)  # noqa: S301 - of our own worker
        worker.jobs.pop(outcome.number, None)
        return [outcome]

    def _died(self, place: int, worker: "_Worker") -> list[JobOutcome]:
        """Puts another worker in its place; its runs are gone on with, or given up."""
        code = worker.end()
        if not worker.ready:
            self._not_started(code)
            self.workers[place] = _Worker(self.runs_at_once)
            self.waiting.extendleft(reversed(worker.jobs.values()))
            return []
        self.workers[place] = _Worker(self.runs_at_once)
        given_up = []
        for number, job in worker.jobs.items():
            done = steps_done(job)
            if done > self.reached.get(number, -1.0):  # it does get on
                self.reached[number], self.deaths[number] = done, 0
            self.deaths[number] += 1
            if self.deaths[number] < MAX_WORKER_DEATHS:
                self.waiting.appendleft(job)
            else:
                given_up.append(JobOutcome(number, LOST_WORKER, _killed(code)))
        return given_up

    def _not_started(self, code: int | None) -> None:
        """Raises if another worker would not start either."""
        self.lost_starts += 1
        killed = code is None or code < 0
        if self.lost_starts >= MAX_FAILED_STARTS or not (killed or self.began):
            raise WorkerLost(_not_ready(code, self.lost_starts))

    def end(self) -> None:
        """Ends the workers: busy ones after their step, others at once."""
        for worker in self.workers:
            if worker.ready:
                worker.tell_stop()
            else:
                worker.process.kill()
        until = time.monotonic() + GRACE_S
        for worker in self.workers:
            worker.process.join(max(0.0, until - time.monotonic()))
            worker.end()
        stores.close()


class _Worker:
    """A process and the jobs it has."""

    def __init__(self, runs_at_once: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(
            target=serve, args=(theirs, runs_at_once), daemon=True
        )
        with _interrupts_blocked():
            self.process.start()
        theirs.close()
        self.jobs: dict[int, Job] = {}
        self.ready = False

    def give(self, job: Job) -> None:
        """One more to make."""
        self.jobs[job.number] = job
        try:
            self.connection.send_bytes(pickle.dumps(job))
        except OSError:
            return  # it has died, which is seen when it is listened to

    def tell_stop(self) -> None:
        """It is to end."""
        try:
            self.connection.send_bytes(STOP)
        except OSError:
            return

    def end(self) -> int | None:
        """Ends it at once, if it still runs; its exit code."""
        if self.process.is_alive():
            self.process.join(1.0)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.connection.close()
        return self.process.exitcode


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Ctrl-C waits meanwhile; a process started here never sees it while it loads."""
    if not hasattr(signal, "pthread_sigmask"):  # on Windows
        yield
        return
    resource_tracker.ensure_running()  # its own start would lift the block
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def serve(connection: Connection, runs_at_once: int) -> None:
    """Makes the runs that a worker is given, until it is told to stop."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the study says when to stop
    if hasattr(signal, "pthread_sigmask"):  # blocked until here, see _Worker
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    stopping, sending = threading.Event(), threading.Lock()

    def make(said: bytes) -> None:
        try:
            outcome = _made(said, stopping)
        except BaseException:  # the study learns of it as of any other death
            traceback.print_exc()
            os._exit(1)
        with sending:
            connection.send_bytes(pickle.dumps(outcome))

    with ThreadPoolExecutor(runs_at_once) as threads:
        connection.send_bytes(READY)
        while True:
            try:
                said = connection.recv_bytes()
            except (EOFError, OSError):  # the study has died
                break
            if said == STOP:
                break
            threads.submit(make, said)
        stopping.set()


def _made(said: bytes, stopping: threading.Event) -> JobOutcome:
    job: Any = pickle.loads(said)  # noqa: S301 - of our own study
    return run_apart(job, stopping.is_set)


def _not_ready(code: int | None, number: int) -> str:
    if code is None or code < 0:
        return (
            f"{number} workers in a row were killed before they could begin (the last "
            f"by {_end(code)}), most often because the machine has no memory left. Give "
            "it fewer workers: study.run(Processes(workers=…)). What is finished is "
            "kept, and study.run() goes on from there."
        )
    return (
        f"a worker ended before it could begin ({_end(code)}); what it printed says "
        "why. A program that starts workers is loaded by each of them: put what runs "
        "the study under if __name__ == '__main__'. Or run it without workers: "
        "study.run('serial')."
    )


def _end(code: int | None) -> str:
    return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"


def _killed(code: int | None) -> str:
    return (
        f"WorkerLost: {MAX_WORKER_DEATHS} workers ended while they made this run (the last by "
        f"{_end(code)}), most often because the machine has no memory left. Give it fewer "
        "workers: study.run(Processes(workers=…)). What was recorded is kept, and "
        "study.run() goes on from there."
    )
