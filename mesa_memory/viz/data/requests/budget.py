"""The budget of an agent's prompt: tokens and omissions of its sections."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from mesa_memory.runs import Run
from mesa_memory.stores import schema
from mesa_memory.viz.data.agent import Row
from mesa_memory.viz.data.reading import number

prompts = schema.prompts


@dataclass(frozen=True)
class PromptSection:
    """One section of a prompt.

    Attributes:
        share: its part of the budget, 0 to 1.
        lines, left_out: number of lines with and without room.
        records: ids of the newest records without room.
        unnamed: number of further records without room.
    """

    name: str
    share: float
    tokens: int
    lines: int
    left_out: int
    records: tuple[str, ...]
    unnamed: int


@dataclass(frozen=True)
class PromptBudget:
    """The budget of a prompt.

    Attributes:
        step: at which it was read.
        most: its largest number of tokens.
        tokens: their number.
        sections: in the order in which they are shown.
    """

    step: float
    most: int
    tokens: int
    sections: tuple[PromptSection, ...]

    @property
    def left_out(self) -> int:
        """Number of lines without room."""
        return sum(section.left_out for section in self.sections)


def budgets(run: Run, agent: Any) -> list[PromptBudget]:
    """Each text of an agent's memory that had a budget, in order.

    A damaged value counts as 0.
    """
    own = (prompts.c.run == run.id, prompts.c.agent == run.name_of(agent))
    columns = (prompts.c.seq, prompts.c.step, prompts.c.budget)
    wanted = select(*columns).where(*own, prompts.c.budget.is_not(None))
    rows = sorted(run.records(wanted), key=lambda row: row["seq"])
    return [_budget(row) for row in rows if isinstance(row["budget"], Mapping)]


def series(
    found: Sequence[PromptBudget], steps: Sequence[float]
) -> dict[str, list[int | None]]:
    """For each section, its tokens at each finished step; or None."""
    tokens: dict[str, dict[float, int]] = {}
    for one in found:
        for part in one.sections:
            tokens.setdefault(part.name, {})[one.step] = part.tokens
    return {name: list(map(known.get, steps)) for name, known in tokens.items()}


def _budget(row: Row) -> PromptBudget:
    given = row["budget"]
    parts = [
        part for part in _listed(given.get("sections")) if isinstance(part, Mapping)
    ]
    sections = tuple(map(_section, parts))
    most, tokens = _count(given.get("budget")), _count(given.get("tokens"))
    return PromptBudget(row["step"], most, tokens, sections)


def _section(part: Mapping[str, Any]) -> PromptSection:
    records = [name for name in _listed(part.get("left_out")) if isinstance(name, str)]
    return PromptSection(
        str(part.get("name") or "?"),
        number(part.get("share")) or 0.0,
        _count(part.get("tokens")),
        _count(part.get("lines")),
        _count(part.get("lines_left_out")),
        tuple(records),
        max(0, _count(part.get("records_left_out")) - len(records)),
    )


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _count(value: Any) -> int:
    return max(0, int(number(value) or 0))
