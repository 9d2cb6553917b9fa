"""Jobs as bytes, for workers in other processes.

What cannot be sent is found before a worker starts, and what cannot be loaded by the
first worker that tries.
"""

import pickle
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import cloudpickle

from mesa_memory.errors import NotPicklable
from mesa_memory.experiments.measures.questionnaires import Questionnaire, parts_of
from mesa_memory.experiments.measures.watch import Measure
from mesa_memory.experiments.studies.arm import Arm
from mesa_memory.experiments.studies.fingerprint import module_of

type Dumps = Callable[[Any], bytes]
#: a thing that a user has given, after its name
type Part = tuple[str, Any]

REMEDY = (
    "Expected is plain data, or a function or class at the top of a module that "
    "workers can import: not a lambda, not inside a function or under if __name__ == "
    "'__main__', and without locks, open files or connections. Move it there, or run "
    "in this process: study.run('serial')."
)


def named_parts(
    arms: Iterable[Arm],
    measures: Mapping[str, Measure],
    outcomes: Mapping[str, Measure],
    questionnaires: Iterable[Questionnaire],
) -> list[Part]:
    """All that the user has given for runs, with names."""
    parts = [part for arm in arms for part in arm.parts]
    parts += [(f"the measure {name!r}", each) for name, each in measures.items()]
    parts += [(f"the outcome {name!r}", each) for name, each in outcomes.items()]
    return parts + parts_of(questionnaires)


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
