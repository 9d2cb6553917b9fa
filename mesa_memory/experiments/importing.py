"""Objects by their names in files and commands."""

import pkgutil
import sys
from pathlib import Path
from typing import Any

#: models that have a name of their own
MODELS = {"rumor": "mesa_memory.examples.rumor.model:RumorModel"}


def importable(folder: Path) -> None:
    """Lets modules of a folder be imported, as ``python -m`` does in the current one."""
    place = str(folder.absolute())
    if place not in sys.path:
        sys.path.insert(0, place)


def named(where: str, folder: Path) -> Any:
    """The object at ``module:name``; the module may be in ``folder``.

    Raises:
        ValueError: if it cannot be loaded.
    """
    importable(folder)
    try:
        return pkgutil.resolve_name(where)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{where!r} cannot be loaded: {error}") from error
