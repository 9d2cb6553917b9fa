"""Panel data: one row for each agent and step of a run, and a codebook of the columns."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import case, func, select

import mesa_memory.stores.schema as schema
from mesa_memory.core.codec import readable
from mesa_memory.core.text.tool_calls import functions
from mesa_memory.errors import MissingExtra
from mesa_memory.runs.measured import outcomes, seen_by_step
from mesa_memory.runs.past import lives
from mesa_memory.runs.recorded import RecordedRun
from mesa_memory.runs.spreadsheet import write_csv

if TYPE_CHECKING:
    import pandas as pd

#: the file that says what each column is
CODEBOOK = "codebook.csv"
FORMATS = (".csv", ".parquet")
#: unit, meaning and source of each column that every panel has
OWN: dict[str, tuple[str, str, str]] = {
    "step": ("step", "The model's clock at the end of the step", "steps"),
    "agent": ("", "Unique id; empty for requests of the model itself", "scenes"),
    "agent_class": ("", "Class of the agent", "scenes"),
    "memory_class": (
        "",
        "Class of its memory; empty if that never held a record",
        "agents",
    ),
    "present": ("0/1", "In the model at the end of the step", "scenes"),
    "x": ("of the space", "Place", "scenes"),
    "y": ("of the space", "Place", "scenes"),
    "records": ("records", "Held at the end of the step", "records"),
    "texts_shown": ("texts", "Texts of its memory that it was shown", "prompts"),
    "lines_shown": ("lines", "Lines in them, without empty ones", "prompts"),
    "requests": ("requests", "To language models, by it or its memory", "calls"),
    "failed": ("requests", "Of these, without an answer", "calls"),
    "tokens_in": ("tokens", "Of its requests", "calls"),
    "tokens_out": ("tokens", "Of the answers", "calls"),
    "cost": ("US dollars", "Of its requests; empty if a price is unknown", "calls"),
    "decisions": ("requests", "Of these, its own decisions", "calls"),
    "answer": ("", "Text of the last decision", "calls"),
    "action": ("", "Tools that the last decision calls", "calls"),
    "arguments": ("JSON", "Arguments of these tools", "calls"),
}
#: columns with what was said
_SAID = ("answer", "arguments")
_COUNTS = tuple(
    name for name, (unit, *_) in OWN.items()
    if unit in ("records", "texts", "lines", "requests", "tokens")
)  # fmt: skip
type Row = dict[str, Any]
type Key = tuple[float, str]
#: unit, meaning and source of columns by name, in order
Columns = dict[str, tuple[str, str, str]]


@dataclass
class Panel:
    """Rows by agent and step, and what each column is.

    Attributes:
        rows: dicts, which may lack columns.
        columns: unit, meaning and source by name, in order.
    """

    rows: list[Row] = field(default_factory=list)
    columns: Columns = field(default_factory=dict)

    def frame(self) -> "pd.DataFrame":
        """The rows as a table; its ``attrs["codebook"]`` are the columns."""
        import pandas as pd

        names = list(self.columns)
        frame = pd.DataFrame(self.rows, columns=names)
        for name in names:
            frame[name] = _column(frame[name])
            if name in _COUNTS or name.startswith("records_"):
                frame[name] = frame[name].fillna(0).astype(int)
        frame.attrs["codebook"] = [
            dict(zip(("name", "unit", "meaning", "source"), (name, *told)))
            for name, told in self.columns.items()
        ]
        return frame


def write(frame: "pd.DataFrame", path: str | Path) -> Path:
    """Writes a panel as ``.parquet`` or ``.csv``, and ``codebook.csv`` beside it.

    Raises:
        ValueError: for another ending.
        FileExistsError: if one of the two files exists.
        MissingExtra: for Parquet without ``pyarrow``.
    """
    import pandas as pd

    path = Path(path)
    if path.suffix not in FORMATS:
        raise ValueError(f"path must end with {' or '.join(FORMATS)}, got {path}")
    path.parent.mkdir(parents=True, exist_ok=True)
    book = path.with_name(CODEBOOK)
    for each in (path, book):
        if each.exists():
            raise FileExistsError(f"{each} exists already; choose another folder")
    if path.suffix == ".csv":
        write_csv(frame, path)
    else:
        try:
            frame.to_parquet(path, engine="pyarrow", index=False)
        except ImportError as error:
            raise MissingExtra("pyarrow", "parquet") from error
    write_csv(pd.DataFrame(frame.attrs["codebook"]), book)
    return path


def panel(
    run: RecordedRun, facts: Mapping[str, str] | None = None, texts: bool = True
) -> Panel:
    """The panel of one run; see ``Run.panel``."""
    rows, columns = _lived(run), dict(OWN)
    _shown(run, rows)
    _asked(run, rows)
    columns |= _attributes(run, rows, texts) | _collected(run, rows, texts)
    columns |= _records(run, rows)
    for name, text in (facts or {}).items():
        columns[f"holds_{name}"] = ("0/1", f"A record states: {text}", "records")
        held = _holding(run, text)
        for key, row in rows.items():
            row[f"holds_{name}"] = key[1] in held and _within(held[key[1]], key[0])
    found = [rows[key] for key in sorted(rows, key=_order)]
    if not texts:
        columns = {name: told for name, told in columns.items() if name not in _SAID}
    return Panel(found, columns)


def _lived(run: RecordedRun) -> dict[Key, Row]:
    """A row for each agent at the end of each finished step, with place and classes."""
    agents = schema.agents
    memories: dict[str, str] = dict(
        run.rows(select(agents.c.agent, agents.c.memory).where(run.mine(agents)))  # type: ignore[arg-type]
    )
    rows = {}
    for step, now in seen_by_step(run, run.steps):
        for agent, kind in now.get("population", {}).items():
            if kind is not None:
                row = _row(run, step, agent)
                x, y = now.get("places", {}).get(agent) or (None, None)
                row |= {"agent_class": kind, "present": True, "x": x, "y": y}
                rows[step, agent] = row | {"memory_class": memories.get(agent)}
    return rows


def _row(run: RecordedRun, step: float, agent: str | None) -> Row:
    own = None if agent is None else run.unique_id(agent)
    if isinstance(own, str) and own.isdecimal():
        own = int(own)  # without a memory it has no row among the agents of the run
    return {"step": step, "agent": own, "present": False}


def _attributes(run: RecordedRun, rows: dict[Key, Row], texts: bool) -> Columns:
    """Adds the agents' attributes of ``configure(outcomes=…)``; their columns."""
    told, found = outcomes(run), Columns()
    for name in told.columns[2:]:
        column = f"own_{name}" if name in OWN else name
        found[column] = ("", f"Attribute {name} at the end of the step", "scenes")
        for row in told.rows:
            there = rows.get((row["step"], str(row["agent"])))
            if there is not None:
                there[column] = _allowed(row[name], texts)
    return found


def _collected(run: RecordedRun, rows: dict[Key, Row], texts: bool) -> Columns:
    """Adds the agent variables of a study's DataCollector; their columns."""
    log, found = schema.measures, Columns()
    wanted = select(log.c.step, log.c.agent, log.c.measured)
    for step, agent, values in run.rows(wanted.where(run.mine(log), log.c.agent != "")):
        for name, value in values.items():
            taken = name in OWN or name.startswith(("records_", "holds_"))
            column = f"collected_{name}" if taken else name
            found[column] = ("", f"Variable {name} of the DataCollector", "measures")
            if (step, agent) in rows:
                rows[step, agent][column] = _allowed(readable(value), texts)
    return found


def _allowed(value: Any, texts: bool) -> Any:
    return value if texts or isinstance(value, int | float) else None


def _records(run: RecordedRun, rows: dict[Key, Row]) -> Columns:
    """Adds the number of records by layer at the end of each step; their columns."""
    records, steps = schema.records, run.steps
    ends = (records.c.valid_from, records.c.valid_to)
    wanted = select(records.c.agent, records.c.layer, *ends, func.count())
    wanted = wanted.where(run.mine(records))
    counts: dict[tuple[str, str], np.ndarray] = {}
    grouped = wanted.group_by(records.c.agent, records.c.layer, *ends)
    for agent, layer, begin, end, count in run.rows(grouped):
        held = counts.setdefault((agent, layer), np.zeros(len(steps) + 1, dtype=int))
        held[np.searchsorted(steps, begin) :] += count
        if end is not None:
            held[np.searchsorted(steps, end) :] -= count
    places = {step: place for place, step in enumerate(steps)}
    for (agent, layer), held in sorted(counts.items()):
        for step, place in places.items():
            row = rows.get((step, agent))
            if row is not None:
                row[f"records_{layer}"] = int(held[place])
                row["records"] = row.get("records", 0) + int(held[place])
    told = "Held at the end of the step by the layer"
    layers = sorted({layer for _, layer in counts})
    return {f"records_{each}": ("records", f"{told} {each}", "records") for each in layers}  # fmt: skip


def _holding(run: RecordedRun, text: str) -> dict[str, list[tuple[float, Any]]]:
    """Beginnings and ends of each agent's records that state a text."""
    from mesa_memory.runs.claims.claim import claim
    from mesa_memory.runs.claims.clauses import sentences

    found = [(life, set(sentences(life[3]))) for life in lives(run)]
    every = sorted(set().union(*(said for _, said in found)))
    judged = zip(every, claim(text).judge(every))
    stating = {sentence for sentence, judgement in judged if judgement.counts()}
    held: dict[str, list[tuple[float, Any]]] = {}
    for (_, agent, _, _, begin, end), said in found:
        if said & stating:
            held.setdefault(agent, []).append((begin, end))
    return held


def _within(spans: Iterable[tuple[float, Any]], step: float) -> bool:
    return any(begin <= step and (end is None or end > step) for begin, end in spans)


def _shown(run: RecordedRun, rows: dict[Key, Row]) -> None:
    """Adds the number of texts and lines that each agent was shown."""
    log = schema.prompts
    wanted = select(log.c.step, log.c.agent, log.c.text).where(run.mine(log))
    for step, agent, text in run.rows(wanted):
        row = _at(run, rows, step, agent)
        row["texts_shown"] = row.get("texts_shown", 0) + 1
        lines = sum(1 for line in (text or "").split("\n") if line.strip())
        row["lines_shown"] = row.get("lines_shown", 0) + lines


def _asked(run: RecordedRun, rows: dict[Key, Row]) -> None:
    """Adds requests, their cost, and the last decision of each agent and step."""
    log = schema.calls
    keys = log.c.step, log.c.agent
    sums = {
        "requests": func.count(),
        "failed": func.count(log.c.error),
        "tokens_in": func.coalesce(func.sum(log.c.tokens_in), 0),
        "tokens_out": func.coalesce(func.sum(log.c.tokens_out), 0),
        "decisions": func.count(log.c.decision),
        "cost": case((func.count(log.c.cost) == func.count(), func.sum(log.c.cost))),
    }
    summed = select(*keys, *sums.values()).where(run.mine(log)).group_by(*keys)
    for step, agent, *values in run.rows(summed):
        _at(run, rows, step, agent).update(zip(sums, values))
    own = run.mine(log), log.c.decision.is_not(None)
    decided = select(*keys, log.c.reply, log.c.raw).where(*own).order_by(log.c.seq)
    for chunk in run.chunks(decided):
        for step, agent, reply, raw in chunk:
            _at(run, rows, step, agent).update(_decided(reply, list(functions(raw))))
    for row in rows.values():
        row.setdefault("cost", 0.0)


def _decided(reply: str | None, calls: list[Mapping[str, Any]]) -> Row:
    given = [call.get("arguments") for call in calls]
    return {
        "answer": reply,
        "action": "; ".join(str(call.get("name")) for call in calls) or None,
        "arguments": json.dumps(given) if calls else None,
    }


def _at(run: RecordedRun, rows: dict[Key, Row], step: float, agent: Any) -> Row:
    """The row of an agent and step; one that was not there at the end gets one, too."""
    return rows.setdefault((step, agent or ""), _row(run, step, agent or None))


def _order(key: Key) -> tuple[float, bool, int, str]:
    step, agent = key
    number = int(agent) if agent.isdecimal() else 0
    return step, not agent.isdecimal(), number, agent


def _column(values: "pd.Series") -> "pd.Series":
    """A column of one kind: numbers, truths, or texts (JSON of lists and dicts)."""
    if values.dtype != object:
        return values
    known = [value for value in values if not _missing(value)]
    if all(isinstance(value, bool) for value in known):
        return values if len(known) < len(values) or not known else values.astype(bool)
    if all(isinstance(value, int) for value in known):
        return values.astype("Int64")
    return values.map(lambda value: None if _missing(value) else _text(value))


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def joined(panels: Sequence[tuple[Row, Panel]], factors: Mapping[str, Any]) -> Panel:
    """The panels of several runs as one.

    Args:
        panels: what each row of a run begins with, and the panel of the run.
        factors: unit, meaning and source of the columns that rows begin with.
    """
    columns: Columns = dict(factors)
    for _, each in panels:
        columns |= {n: told for n, told in each.columns.items() if n not in columns}
    return Panel([head | row for head, each in panels for row in each.rows], columns)
