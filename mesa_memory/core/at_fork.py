"""Functions that are called around a fork of the process."""

import os
from collections.abc import Callable


def at_fork(**functions: Callable[[], object]) -> None:
    """Calls functions around each fork; does nothing on a system without, as Windows.

    Args:
        functions: ``before``, ``after_in_parent`` and ``after_in_child``, as far as
            wanted; see ``os.register_at_fork``.
    """
    register = getattr(os, "register_at_fork", None)
    if register is not None:
        register(**functions)
