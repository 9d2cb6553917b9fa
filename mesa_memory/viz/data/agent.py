"""One agent: its memory at a step, the changes of the step, and the texts of its prompts."""

from dataclasses import dataclass, field
from typing import Any

from mesa_memory.core.records import DERIVED
from mesa_memory.core.render import count_tokens
from mesa_memory.runs import Run
from mesa_memory.runs.versions import Versions
from mesa_memory.viz.data import reading

Row = dict[str, Any]


class Past:
    """All records that an agent ever had; read once, for any step.

    Args:
        rows: with the columns of ``records``, in order of arrival.

    Attributes:
        rows: the same; a ``content`` that is not a dict is an empty one.
    """

    def __init__(self, rows: list[Row]) -> None:
        self.rows = [
            row if isinstance(row["content"], dict) else row | {"content": {}}
            for row in rows
        ]
        self.by_id = {row["id"]: row for row in self.rows}
        self._versions = Versions(self.rows)

    def at(self, step: float) -> list[Row]:
        """The records at the end of a step."""
        return [
            _as_known(row, step)
            for row in self.rows
            if row["valid_from"] <= step
            and (row["valid_to"] is None or row["valid_to"] > step)
        ]

    def before(self, record: str) -> Row | None:
        """The version that a record replaced; None if it is the first one."""
        ids = self._versions.before.get(record, ())
        return self.by_id[ids[-1]] if ids else None

    def opened(self, after: float, step: float) -> list[Row]:
        """The records that were added since the end of the step before."""
        return [row for row in self.rows if after < row["valid_from"] <= step]

    def closed(self, after: float, step: float) -> list[Row]:
        """The records that ended since then; ``closed_because`` is the reason."""
        ends = [row for row in self.rows if row["valid_to"] is not None]
        return [row for row in ends if after < row["valid_to"] <= step]

    def made(self, step: float, kind: str | None = None) -> list[Row]:
        """All records that the memory itself made by the end of a step.

        Args:
            kind: only of this kind; None is all.
        """
        return [
            row
            for row in self.rows
            if row["origin"] == DERIVED
            and row["valid_from"] <= step
            and kind in (None, row["kind"])
        ]


def past(run: Run, agent: Any) -> Past:
    """All records of an agent."""
    return Past(reading.records_of(run, agent))


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
    return max((s for s in steps if s < step), default=reading.BEFORE_ALL)


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
        if name not in names and reading.number(value) is not None
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


def _as_known(row: Row, step: float) -> Row:
    """A record without its grade, if that came later."""
    late = row["graded_at"] is not None and row["graded_at"] > step
    return row | {"importance": None} if late else row


def text_of(row: Row) -> str:
    """A record as its agent is shown it; empty if the run lacks it, as others' may."""
    return row.get("told") or row["text"] or ""


def cell(row: Row, name: str) -> Any:
    """The value of a column of a table of records."""
    if name == "text":
        return text_of(row)
    if name == "doubtful":
        return doubt_of(row) or None
    return row[name] if name in row else reading.number(row["content"].get(name))
