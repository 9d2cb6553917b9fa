"""Jobs as bytes, for workers in other processes.

What cannot be sent is found before a worker starts, and what cannot be loaded by the
first worker that tries.
"""

import pickle
import sys
from collections.abc import Callable, Iterable
from typing import Any

import cloudpickle

from mesa_memory.errors import NotPicklable
from mesa_memory.experiments.studies.fingerprint import module_of
from mesa_memory.experiments.studies.worker import Job, JobOutcome, Part, run_apart

type Dumps = Callable[[Any], bytes]

REMEDY = (
    "Expected is plain data, or a function or class at the top of a module that "
    "workers can import: not a lambda, not inside a function or under if __name__ == "
    "'__main__', and without locks, open files or connections. Move it there, or run "
    "in this process: study.run('serial')."
)


def local_dumps(parts: Iterable[Part]) -> Dumps:
    """Pickles jobs of these parts for processes of this machine.

    They cannot import a notebook, so what it defines is sent by value.
    """
    by_value = any(_only_here(value) for _, value in parts)
    return cloudpickle.dumps if by_value else pickle.dumps


def check_picklable(dumps: Dumps | None, parts: Iterable[Part]) -> None:
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


def run_packed(run: str, packed: bytes) -> JobOutcome:
    """``run_apart`` for a job as ``unpacked`` takes it."""
    return run_apart(unpacked(run, packed))


def unpacked(run: str, packed: bytes) -> Job:
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
