"""The models of README and tutorial, as they stand there, with any memory and size."""

import re
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

from mesa_memory.memories import registry

ROOT = Path(__file__).parent.parent.parent
#: what is before and after the code of the model in a page
CODE = {
    "README.md": "```python\n(import mesa\n.*?)```\n\n```text\n",
    "docs/tutorial.md": ":caption: village.py\n\n(.*?)```",
}


def street(n: int, memory: str, rng: Any = None) -> Any:
    """README's street."""
    return code_of("README.md")["Street"](_made(memory), n, rng=rng)


def village(n: int, memory: str, rng: Any = None) -> Any:
    """The tutorial's village."""
    code = code_of("docs/tutorial.md")
    code["MEMORIES"][memory] = _made(memory)
    return code["Village"](n, memory, rng=rng)


def _made(memory: str) -> Callable[[Any], Any]:
    return lambda agent: registry.find(memory)(agent)


@cache
def code_of(page: str, asks: str = "") -> dict[str, Any]:
    """What the code of a page defines.

    Args:
        asks: source of the model that agents ask in place of the page's function.
    """
    found = re.search(CODE[page], (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None, f"{page} has no model any more where it was"
    code = (
        re.sub(r"register_policy\(\"\w+\", \w+\)", asks, found[1]) if asks else found[1]
    )
    defined: dict[str, Any] = {"__name__": "page"}
    with redirect_stdout(StringIO()):
        exec(code, defined)
    return defined
