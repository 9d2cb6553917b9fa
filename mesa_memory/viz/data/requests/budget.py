"""The budget of an agent's prompt: tokens and omissions of its sections."""

from collections.abc import Sequence
from typing import Any

from mesa_memory.runs import Run
from mesa_memory.stores.schema import prompts
from mesa_memory.viz.data import reading
from mesa_memory.viz.data.agent import Row


def budgets(run: Run, agent: Any) -> list[Row]:
    """The budget of each text of an agent's memory that had one, in order.

    Each has ``step``, and ``budget``, ``tokens`` and ``sections`` as
    ``memories.prompt.sections`` writes them.
    """
    rows = reading.of_agent(run, prompts, agent, prompts.c.budget.is_not(None))
    return [row["budget"] | {"step": row["step"]} for row in rows]


def series(found: Sequence[Row], steps: Sequence[float]) -> dict[str, list[int | None]]:
    """For each section, its tokens at each finished step; or None."""
    tokens: dict[str, dict[float, int]] = {}
    for one in found:
        for part in one["sections"]:
            tokens.setdefault(part["name"], {})[one["step"]] = part["tokens"]
    return {name: list(map(known.get, steps)) for name, known in tokens.items()}
