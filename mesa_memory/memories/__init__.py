"""The memories: logic that yields effects and does no I/O."""

from typing import Any

# First, as it says what to do where Mesa-LLM cannot be imported.
import mesa_memory.hosts.mesa_llm  # noqa: F401
from mesa_memory import exported

_PLACES = {"BudgetReport": "memories.prompt.sections"}

__all__ = sorted(_PLACES)  # noqa: PLE0605 - names come from the table above


def __getattr__(name: str) -> Any:
    return exported(__name__, _PLACES, name)
