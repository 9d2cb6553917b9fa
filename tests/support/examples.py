"""The models of README and tutorial, as they stand there, with any memory and size.

What their agents say themselves is asked through the services, too, so that it is counted.
"""

import re
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

from mesa_memory import route_reasoning
from mesa_memory.memories import registry

ROOT = Path(__file__).parent.parent.parent
#: file, and what is before and after the code of the model in it
README = ("README.md", "```python\n(import mesa\n.*?)```\n\n```text\n")
TUTORIAL = ("docs/tutorial.md", ":caption: village.py\n\n(.*?)```")


def street(n: int, memory: str, rng: Any = None) -> Any:
    """README's street."""
    return _counted(_code(README)["Street"](_made(memory), n, rng=rng))


def village(n: int, memory: str, rng: Any = None) -> Any:
    """The tutorial's village."""
    code = _code(TUTORIAL)
    code["MEMORIES"][memory] = _made(memory)
    return _counted(code["Village"](n, memory, rng=rng))


def _counted(model: Any) -> Any:
    for agent in model.agents:
        route_reasoning(agent, block=None)
    return model


def _made(memory: str) -> Callable[[Any], Any]:
    return lambda agent: registry.find(memory)(agent)


@cache
def _code(page: tuple[str, str]) -> dict[str, Any]:
    """What the code of a page defines."""
    name, pattern = page
    found = re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None, f"{name} has no model any more where it was"
    defined: dict[str, Any] = {"__name__": "page"}
    with redirect_stdout(StringIO()):
        exec(found[1], defined)
    return defined
