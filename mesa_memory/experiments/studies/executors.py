"""Makes the cases of a study: in this process, in others of this machine, or elsewhere.

What cannot be sent to a worker is found before one starts, and what cannot be loaded by
the first worker that tries.
"""

import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count, islice
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

import cloudpickle

from mesa_memory.core.validate import checked_int
from mesa_memory.errors import NotPicklable, WorkerLost
from mesa_memory.experiments.studies.fingerprint import module_of
from mesa_memory.experiments.studies.worker import (
    LOST_WORKER,
    Job,
    JobOutcome,
    NamedObject,
    run_apart,
    run_job,
    steps_done,
)
from mesa_memory.stores.studies import STOPPED

type Dumps = Callable[[Any], bytes]

SERIAL = "serial"
#: jobs that an executor has at a time
MAX_QUEUED_JOBS = 1000
#: deaths of its workers without a further step, after which a case counts as failed
MAX_WORKER_DEATHS = 3
#: starts in a row that fail, after which the study ends
MAX_FAILED_STARTS = 3
#: seconds that workers have to end their step after an interrupt
GRACE_S = 60.0
#: seconds that a worker has to end its process
EXIT_S = 10.0


REMEDY = (
    "Expected is plain data, or a function or class at the top of a module that "
    "workers can import: not a lambda, not inside a function or under if __name__ == "
    "'__main__', and without locks, open files or connections. Move it there, or run "
    "in this process: study.run('serial')."
)


class Serial:
    """One run after the other, in this process."""

    def dumps(self, parts: Sequence[NamedObject]) -> Dumps | None:
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

    def dumps(self, parts: Sequence[NamedObject]) -> Dumps | None:
        """As the executor itself sends jobs; None if they stay in this process."""
        if isinstance(self.executor, ThreadPoolExecutor):
            return None
        if isinstance(self.executor, ProcessPoolExecutor):
            return local_dumps(parts)
        if any(k.__module__.startswith("mpi4py.") for k in type(self.executor).__mro__):
            from mpi4py import MPI

            # A program may have put something else in its place.
            return MPI.pickle.dumps
        return cloudpickle.dumps  # as Dask does

    def outcomes(
        self, jobs: Sequence[Job], stage: Callable[[str], None]
    ) -> Iterator[JobOutcome]:
        """Makes all jobs; gives each outcome as it comes."""
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

    def dumps(self, parts: Sequence[NamedObject]) -> Dumps:
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
            stage(f"{sum(each.ready for each in workers)} of {number} workers")

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


class _Worker:
    """A pool of one process, made anew if that dies.

    One thread calls ``make``. Another one may call ``stop`` and ``kill`` meanwhile.
    """

    def __init__(self, dumps: Dumps, on_start: Callable[[], None]) -> None:
        self.dumps, self.on_start = dumps, on_start
        self.pool: ProcessPoolExecutor | None = None
        self.process: Any = None
        self.open: Connection | None = None  # as long as the process is to go on
        self.ready = self.stopped = False

    def make(self, job: Job) -> JobOutcome:
        """Makes a job; if the process dies, another one goes on with it."""
        deaths, reached, code = 0, -1.0, 0
        while deaths < MAX_WORKER_DEATHS:
            if self.pool is None and not self.stopped:
                self._start()
            if self.stopped or self.pool is None:
                return JobOutcome(job.number, STOPPED)
            try:
                made = self.pool.submit(_made, job.run_name, self.dumps(job)).result()
                if isinstance(made, NotPicklable):
                    raise made
                return made
            except BrokenExecutor:
                code = self.end()
            done = steps_done(job)
            deaths = 1 if done > reached else deaths + 1
            reached = max(reached, done)
        return JobOutcome(job.number, LOST_WORKER, _killed(code))

    def _start(self) -> None:
        """Starts the process, and waits until it has loaded the program.

        Raises:
            WorkerLost: if it ends before, and another one would, too.
        """
        context = multiprocessing.get_context("spawn")
        for number in count(1):
            theirs, self.open = context.Pipe(duplex=False)
            self.pool = ProcessPoolExecutor(1, context, _begin, (theirs,))
            with _STARTS:
                before = multiprocessing.active_children()
                ready = self.pool.submit(os.getpid)
                children = multiprocessing.active_children()
            self.process = next((each for each in children if each not in before), None)
            if self.stopped:  # meanwhile, when the process was not known yet
                self.kill()
            theirs.close()
            try:
                ready.result()
                self.ready = True
                self.on_start()
                return
            except BrokenExecutor:
                code = self.end()
            if self.stopped or code >= 0 or number == MAX_FAILED_STARTS:
                raise WorkerLost(_not_ready(code, number))

    def stop(self) -> None:
        """Ends a process after its step, one that is not ready at once."""
        self.stopped = True
        if self.open is not None:
            self.open.close()
        if not self.ready:
            self.kill()

    def kill(self) -> None:
        """Ends the process at once."""
        if self.process is not None:
            self.process.kill()

    def end(self) -> int:
        """Ends the process, if there is one; its exit code, negative for a signal."""
        pool, process, self.pool, self.ready = self.pool, self.process, None, False
        if pool is None or process is None or self.open is None:
            return 0
        late = threading.Timer(EXIT_S, process.kill)
        late.start()
        pool.shutdown()
        late.cancel()
        self.open.close()
        return process.exitcode or 0


#: held while a process is started, to know which one is new
_STARTS = threading.Lock()
#: of a worker process: held while it makes a run; set if that is to end after its step
_BUSY, _STOPPING = threading.Lock(), threading.Event()
#: set while it loads the user's program for a job, which may take long
_LOADING = threading.Event()


def _begin(open_: Connection) -> None:
    """Prepares a worker process.

    Args:
        open_: ends if the study is stopped or has died.
    """
    from tqdm import tqdm

    # Its own lock is a semaphore of the system, which a killed worker leaves behind.
    tqdm.set_lock(threading.RLock())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the study says when to stop
    if hasattr(signal, "pthread_sigmask"):  # blocked until here, see _block_sigint
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_watch, args=(open_,), daemon=True).start()


def _watch(open_: Connection) -> None:
    """Tells the run when to stop; ends the process if the study has died."""
    with suppress(OSError):  # so Windows says that the other end is closed
        open_.poll(None)
    _STOPPING.set()
    if _LOADING.is_set():
        os._exit(1)
    study = multiprocessing.parent_process()
    if study is not None:
        study.join()
    with _BUSY:
        os._exit(1)


def _made(run: str, packed: bytes) -> JobOutcome | NotPicklable:
    """``run_packed`` in a worker process of this machine."""
    _LOADING.set()
    if _STOPPING.is_set():
        os._exit(1)
    try:
        job = unpacked(run, packed)
    except NotPicklable as error:
        return error
    finally:
        _LOADING.clear()
    with _BUSY:
        return run_apart(job, _STOPPING.is_set)


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
    waiting, under_way = iter(jobs), dict[Any, Job]()
    try:
        while True:
            for job in islice(waiting, MAX_QUEUED_JOBS - len(under_way)):
                under_way[executor.submit(*call(job))] = job
            if not under_way:
                return
            ended, _ = wait(under_way, return_when=FIRST_COMPLETED)
            # in order of jobs: of several failures, the first job's ends the study
            for future in [each for each in under_way if each in ended]:
                job, error = under_way.pop(future), future.exception()
                if error is None or isinstance(error, raised):
                    yield future.result()
                else:
                    yield JobOutcome(job.number, LOST_WORKER, _gone(error))
    finally:
        for future in under_way:
            future.cancel()
        end(under_way)


def _gone(error: BaseException) -> str:
    return (
        f"WorkerLost: the worker that made this run is gone ({type(error).__name__}: "
        f"{error}). Records are kept, and study.run() continues from there."
    )


def local_dumps(parts: Iterable[NamedObject]) -> Dumps:
    """Pickles jobs of these parts for processes of this machine.

    They cannot import a notebook, so what it defines is sent by value.
    """
    by_value = any(_only_here(value) for _, value in parts)
    return cloudpickle.dumps if by_value else pickle.dumps


def check_picklable(dumps: Dumps | None, parts: Iterable[NamedObject]) -> None:
    """Raises if the parts of jobs cannot be sent to other processes.

    Args:
        dumps: pickles them; None if they are not sent.

    Raises:
        NotPicklable: names the part.
    """
    if dumps is None:
        return
    each_once = {id(value): (name, value) for name, value in parts}
    for name, value in each_once.values():
        try:
            dumps(value)
        except Exception as error:  # an object's own way to be pickled may do anything
            raise NotPicklable(
                f"{name} cannot be sent to a worker process: {value!r:.80} "
                f"({type(error).__name__}: {error}). {REMEDY}",
                name=name,
            ) from error


def unpacked(run: str, packed: bytes) -> Any:
    """A job from its bytes.

    Args:
        run: name of the run.

    Raises:
        NotPicklable: if this process cannot load the job.
    """
    try:
        return cloudpickle.loads(packed)
    except Exception as error:  # an object's own way to be loaded may do anything
        raise NotPicklable(
            f"a worker cannot load the run {run!r}: {type(error).__name__}: {error}. "
            f"{REMEDY}",
            name=run,
        ) from error


def _only_here(value: Any) -> bool:
    """True for a definition of a notebook, or a class inside a program's function."""
    if module_of(value) != "__main__":
        return False
    main = sys.modules["__main__"]
    local = isinstance(value, type) and getattr(main, value.__name__, None) is not value
    return local or not hasattr(main, "__file__")


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (
        os.cpu_count() or 1
    )  # fmt: skip


def _block_sigint() -> None:
    """Processes that this thread starts are not interrupted while they load."""
    if hasattr(signal, "pthread_sigmask"):  # not on Windows
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


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
