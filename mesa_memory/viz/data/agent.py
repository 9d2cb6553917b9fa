"""One agent: its memory at a step, the changes of the step, and the texts of its prompts."""

from dataclasses import dataclass, field
from sys import float_info
from typing import Any

from mesa_memory.core.records import DERIVED
from mesa_memory.core.render import count_tokens
from mesa_memory.runs import Run
from mesa_memory.runs.past import Past, Row, text_of

#: a step before all others; the store takes finite numbers only
BEFORE_ALL = -float_info.max


def number(value: Any) -> float | None:
    """A recorded value if it is a finite number, else None."""
    usable = isinstance(value, int | float) and not isinstance(value, bool)
    # The comparison also refuses NaN, and integers that are no float.
    return float(value) if usable and abs(value) <= float_info.max else None


@dataclass
class LayerView:
    """A layer of a memory at a step.

    Attributes:
        texts: records without others of their kind that the memory made, such as a
            running summary: (row, the version before it or None).
        tables: the other records by kind; events of all kinds are ``"event"``.
    """

    layer: str
    texts: list[tuple[Row, Row | None]] = field(default_factory=list)
    tables: dict[str, list[Row]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Number of records."""
        return len(self.texts) + sum(map(len, self.tables.values()))


def layer_views(past: Past, step: float) -> list[LayerView]:
    """The layers at the end of a step.

    A layer that was used before stays listed when it is empty.
    """
    views = {row["layer"]: LayerView(row["layer"]) for row in past.rows}
    kinds: dict[tuple[str, str], list[Row]] = {}
    for row in past.at(step):
        kinds.setdefault((row["layer"], row["kind"]), []).append(row)
    for (layer, kind), rows in kinds.items():
        view = views[layer]
        made = any(row["origin"] == DERIVED for row in rows)
        if made and len(rows) == 1 and rows[0]["subject"] is None:
            view.texts.append((rows[0], past.before(rows[0]["id"])))
        else:
            view.tables.setdefault(kind if made else "event", []).extend(rows)
    for view in views.values():
        for rows in view.tables.values():
            rows.sort(key=lambda row: row["seq"])
    return list(views.values())


def previous(steps: list[float], step: float) -> float:
    """The finished step before one; ``BEFORE_ALL`` if it is the first."""
    return max((s for s in steps if s < step), default=BEFORE_ALL)


def changed(past: Past, steps: list[float], step: float) -> list[Row]:
    """The changes of a memory in a step, a row for each.

    Each has ``change``: ``"added"``, or the reason of its end, such as
    ``"consolidated"`` and ``"evicted"``.
    """
    since = previous(steps, step)
    opened = [row | {"change": "added"} for row in past.opened(since, step)]
    closed = past.closed(since, step)
    return opened + [
        row | {"change": row["closed_because"] or "ended"} for row in closed
    ]


def columns(rows: list[Row]) -> list[str]:
    """Columns of a table of records: differing ones, and numbers of their content."""
    several = {
        "kind": len({row["kind"] for row in rows}) > 1,
        "subject": any(row["subject"] is not None for row in rows),
        "importance": any(row["importance"] is not None for row in rows),
        "doubtful": any(map(doubt_of, rows)),
    }
    names = ("step", "kind", "subject", "text", "importance", "doubtful")
    numbers = dict.fromkeys(
        name
        for row in rows
        if row["origin"] == DERIVED
        for name, value in row["content"].items()
        if name not in names and number(value) is not None
    )
    return [*(name for name in names if several.get(name, True)), *numbers]


def doubt_of(row: Row) -> str:
    """The reason why a summary is doubtful; empty if it is not."""
    return str(row["content"].get("doubtful", "")) if row["origin"] == DERIVED else ""


def shown(run: Run, agent: Any, step: float) -> list[Row]:
    """The texts of memory in an agent's prompts of a step, each once.

    Each has ``layer``, ``section``, ``text``, ``tokens`` (an estimate) and ``times``.
    """
    found: dict[tuple, Row] = {}
    for row in run.prompts(agent, step, as_records=True):
        text = row["text"] or ""
        key = (row["layer"], row["section"], text)
        known = found.setdefault(key, row | {"tokens": count_tokens(text), "times": 0})
        known["times"] += 1
    return list(found.values())


def cell(row: Row, name: str) -> Any:
    """The value of a column of a table of records."""
    if name == "text":
        return text_of(row)
    if name == "doubtful":
        return doubt_of(row) or None
    return row[name] if name in row else number(row["content"].get(name))
