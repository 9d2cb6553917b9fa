"""Every task of this process, by its purpose."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from mesa_memory.errors import DuplicatePurpose

#: purposes of requests that are no task's: an agent's own reasoning, vectors, and the
#: making of a connection
RESERVED = ("connect", "embed", "reasoning")

_tasks: dict[str, Any] = {}


def register(task: Any) -> None:
    """Adds a task; the same one defined anew takes the place of the earlier one.

    A module that is loaded again, or a notebook's cell that is run again, defines the
    same task anew.

    Raises:
        DuplicatePurpose: if another task has the purpose.
        ValueError: if the purpose is empty or reserved.
    """
    purpose = task.purpose
    if not isinstance(purpose, str) or not purpose.strip():
        raise ValueError(f"a task's purpose must be a text, got {purpose!r}")
    if purpose in RESERVED:
        raise ValueError(
            f"the purpose {purpose!r} is reserved, as are all of {RESERVED}; choose "
            "another one"
        )
    known = _tasks.get(purpose)
    if known is not None and known.origin != task.origin:
        raise DuplicatePurpose(purpose, known.origin, task.origin)
    _tasks[purpose] = task


def find(purpose: str) -> Any:
    """The task with this purpose; None without one."""
    return _tasks.get(purpose)


@contextmanager
def temporary() -> Iterator[None]:
    """A context whose definitions end with it; for tests."""
    before = dict(_tasks)
    try:
        yield
    finally:
        _tasks.clear()
        _tasks.update(before)


def registered() -> Mapping[str, Any]:
    """All tasks by purpose, in the order of their names; a view of this moment."""
    return MappingProxyType(dict(sorted(_tasks.items())))
