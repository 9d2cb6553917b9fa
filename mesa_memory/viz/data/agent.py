"""One agent: what it remembered at a step, what the step changed, what it was shown."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from mesa_memory.core.records import DERIVED
from mesa_memory.core.render import count_tokens, event_text
from mesa_memory.runs import Run
from mesa_memory.runs.versions import Versions
from mesa_memory.viz.data import reading

Row = dict[str, Any]
#: longest text of an event, as in prompts
CHARS = 1000


class Past:
    """All records that an agent ever had; made once, asked for any step.

    Args:
        rows: with the columns of ``records``, in order of arrival.
    """

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        self.by_id = {row["id"]: row for row in rows}
        self._versions = Versions(rows)

    def at(self, step: float) -> list[Row]:
        """What was remembered at the end of a step."""
        return [
            _as_known(row, step)
            for row in self.rows
            if row["valid_from"] <= step
            and (row["valid_to"] is None or row["valid_to"] > step)
        ]

    def before(self, record: str) -> Row | None:
        """The version of a record whose place it took; None if it is the first."""
        ids = self._versions.before.get(record, ())
        return self.by_id[ids[-1]] if ids else None

    def opened(self, after: float, step: float) -> list[Row]:
        """What was new since the end of the step before."""
        return [row for row in self.rows if after < row["valid_from"] <= step]

    def closed(self, after: float, step: float) -> list[Row]:
        """What was no longer remembered, ``closed_because`` says why."""
        ends = [row for row in self.rows if row["valid_to"] is not None]
        return [row for row in ends if after < row["valid_to"] <= step]


def past(run: Run, agent: Any) -> Past:
    """All that an agent ever remembered."""
    return Past(reading.records_of(run, agent))


@dataclass
class Shelf:
    """A layer of a memory at a step.

    Attributes:
        texts: what stands alone in its kind and was made by the memory, such as a
            running summary: (row, the version before it or None).
        tables: all else by kind, events of all kinds together as ``"event"``.
    """

    layer: str
    texts: list[tuple[Row, Row | None]] = field(default_factory=list)
    tables: dict[str, list[Row]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many records it holds."""
        return len(self.texts) + sum(map(len, self.tables.values()))


def shelves(past: Past, step: float) -> list[Shelf]:
    """The layers at the end of a step, whatever kinds of record they have.

    A layer that was used before stays listed when it is empty.
    """
    found = {row["layer"]: Shelf(row["layer"]) for row in past.rows}
    kinds: dict[tuple[str, str], list[Row]] = {}
    for row in past.at(step):
        kinds.setdefault((row["layer"], row["kind"]), []).append(row)
    for (layer, kind), rows in kinds.items():
        shelf = found[layer]
        made = any(row["origin"] == DERIVED for row in rows)
        if made and len(rows) == 1 and rows[0]["subject"] is None:
            shelf.texts.append((rows[0], past.before(rows[0]["id"])))
        elif made:
            shelf.tables[kind] = rows
        else:
            shelf.tables.setdefault("event", []).extend(rows)
    for shelf in found.values():
        for rows in shelf.tables.values():
            rows.sort(key=lambda row: row["seq"])
    return list(found.values())


def previous(steps: list[float], step: float) -> float:
    """The finished step before one; minus infinity if it is the first."""
    return max((other for other in steps if other < step), default=float("-inf"))


def changed(past: Past, steps: list[float], step: float) -> list[Row]:
    """What a step did to the memory, a row for each record and change.

    Each has ``change``: ``"added"``, or why it ended, such as ``"consolidated"`` and
    ``"evicted"``.
    """
    since = previous(steps, step)
    opened = [row | {"change": "added"} for row in past.opened(since, step)]
    closed = [
        row | {"change": row["closed_because"] or "ended"}
        for row in past.closed(since, step)
    ]
    return opened + closed


def tally(rows: Iterable[Row]) -> dict[str, int]:
    """How many rows of ``changed`` there are of each change, in order."""
    found: dict[str, int] = {}
    for row in rows:
        found[row["change"]] = found.get(row["change"], 0) + 1
    return found


#: columns of every table of records, before what its content adds
PLAIN = ("step", "kind", "text", "importance", "subject")


def columns(rows: list[Row]) -> list[str]:
    """What a table of these records shows: what differs, and numbers they hold."""
    found = ["step"]
    if len({row["kind"] for row in rows}) > 1:
        found.append("kind")
    found += [name for name in ("subject",) if _any(rows, name)]
    found.append("text")
    found += [name for name in ("importance",) if _any(rows, name)]
    found += ["doubtful"] * any(map(doubt_of, rows))
    return found + numbers(rows)


def doubt_of(row: Row) -> str:
    """Why a summary is doubtful; empty if it is not."""
    content = row["content"] if isinstance(row["content"], dict) else {}
    return str(content.get("doubtful", "")) if row["origin"] == DERIVED else ""


def numbers(rows: list[Row]) -> list[str]:
    """The numbers that the records' content holds, such as sentiment, by name."""
    found: dict[str, None] = {}
    for row in rows:
        content = row["content"] if isinstance(row["content"], dict) else {}
        for name, value in content.items():
            usable = isinstance(value, int | float) and not isinstance(value, bool)
            if usable and row["origin"] == DERIVED and name not in PLAIN:
                found[name] = None
    return list(found)


def cells(rows: list[Row], names: list[str]) -> list[list[Any]]:
    """The values of these columns, a list for each row."""
    return [[_cell(row, name) for name in names] for row in rows]


def shown(run: Run, agent: Any, step: float) -> list[Row]:
    """The texts of memory that the agent was shown in a step, each once.

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


def _any(rows: list[Row], name: str) -> bool:
    return any(row[name] is not None for row in rows)


def text_of(row: Row) -> str:
    """A record as people read it: events as agents are shown them."""
    if row["origin"] != DERIVED and isinstance(row["content"], dict):
        return event_text(row["kind"], row["content"], CHARS)
    return row["text"] or ""


def _cell(row: Row, name: str) -> Any:
    if name == "text":
        return text_of(row)
    if name == "doubtful":
        return doubt_of(row) or None
    if name in row:
        return row[name]
    content = row["content"] if isinstance(row["content"], dict) else {}
    value = content.get(name)
    return value if isinstance(value, int | float) else None
