"""The one door to the packages around this one, for names that are private or move.

One file for each package. A name that is gone raises ``HostChanged``, which says what to
do; nothing here falls silent.
"""

import copy
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from mesa_memory.errors import HostChanged


def changed(package: str, what: str, advice: str) -> HostChanged:
    """Makes the error for a name that is gone, or a call that is no longer made.

    Args:
        package: its name, as it is installed.
        what: the name that is missing.
        advice: what to do.
    """
    try:
        found = version(package)
    except PackageNotFoundError:  # a copy that is not installed
        found = "(not installed)"
    return HostChanged(
        f"{package} {found} is not as mesa-memory knows it: {what}. {advice}", package
    )


class CallableWrapper:
    """A callable in the place of an object's own one, which it calls.

    A copy of the object does not have it, since a copy is not watched.
    """

    def __init__(self, inner: Callable[..., Any]) -> None:
        self.inner = inner

    def __deepcopy__(self, memo: dict) -> Any:
        return copy.deepcopy(self.inner, memo)

    def __reduce__(self) -> tuple:
        return _same, (self.inner,)


def _same(inner: Any) -> Any:
    return inner
