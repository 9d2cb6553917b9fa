"""Biographies: facts about agents, from a table, which their memories always show."""

import codecs
import csv
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from os import PathLike
from pathlib import Path
from typing import Any, Self

from mesa_memory.core.content import one_line, storable
from mesa_memory.core.records import EDITED, IMPORTED, MemoryRecord, Part
from mesa_memory.hosts.mesa_llm import own_name
from mesa_memory.memories.host.interventions import changed_by_hand, memory_of

#: kind of the records, and name of the intervention and of their part of a memory
BIOGRAPHY = "biography"
#: names of the column that tells whose row it is; without one, the first column does
KEY_COLUMNS = ("agent", "id", "name")
#: what may separate the columns of a file
SEPARATORS = (",", ";", "\t")


def biography(agents: Iterable[Any], table: Any) -> dict[Any, list[MemoryRecord]]:
    """Pins the facts of a table in the memories of agents.

    They stand above everything that ``get_prompt_ready`` and ``format_long_term`` show,
    word for word, and no layer receives them: they are never graded, summarised,
    evicted or merged with what others say. Their records are ``"imported"``. A second
    table takes the place of the first. The facts stay with their agent in checkpoints,
    copies, ``exchange`` and ``replace_memory``; ``edit`` and ``erase`` change them.

    Args:
        agents: each has a row in the table.
        table: pandas ``DataFrame``, or path of a CSV file, as spreadsheets save it:
            UTF-8 or UTF-16, with commas, semicolons or tabs. One row for each agent. The first of the
            columns ``agent``, ``id`` and ``name``, or else the first column, has its
            unique id or its name; each other column is a fact. Empty cells are left out.

    Returns:
        The pinned records by unique id, in the order of the columns.

    Raises:
        TypeError: if the table is of another type, or a memory of another package.
        ValueError: if an agent has no row or several, a row has no agent or several, a
            column has no name, or a name twice, or a row of a file has another number of
            cells than its header. Nothing has changed then.
    """
    people = list(agents)
    rows = BiographyTable.read(table).matched(people)
    memories = [memory_of(agent) for agent in people]
    for memory, row in zip(memories, rows, strict=True):
        with changed_by_hand(memory, BIOGRAPHY) as detail:
            view, journal = memory.view(), memory.journal
            old, journal.pinned = journal.pinned, []
            for field, value in row.items():
                content = {"field": field, "value": value}
                given: dict[str, Any] = {"origin": IMPORTED, "part": Part(BIOGRAPHY, 0)}
                record = view.open(BIOGRAPHY, content, **given)
                journal.pinned.append(record)
            for record in old:
                journal.close(record, view.now, EDITED)
            detail["records"] = [record.id for record in journal.pinned]
    return {m.agent.unique_id: list(m.journal.pinned) for m in memories}


@dataclass(frozen=True)
class BiographyTable:
    """A table of people, as texts.

    Attributes:
        rows: value by field, by the unique id or name of the person.
    """

    rows: Mapping[str, Mapping[str, str]]

    @classmethod
    def read(cls, table: Any) -> Self:
        """The rows of a ``DataFrame`` or of a CSV file; see ``biography``."""
        if isinstance(table, str | PathLike):
            columns, *cells = _cells(Path(table)) or [[]]
        elif hasattr(table, "itertuples"):
            filled = table.astype(object).where(table.notna(), "")
            columns, cells = list(filled.columns), filled.to_numpy().tolist()
        else:
            raise TypeError(
                f"table must be a pandas DataFrame or the path of a CSV file, got "
                f"{table!r:.80}"
            )
        return cls(_rows(list(map(_text, columns)), cells))

    def row_of(self, agent: Any) -> Mapping[str, str] | None:
        """The row of an agent, by its unique id or else its name; None without one."""
        by_id = self.rows.get(_text(agent.unique_id))
        return by_id if by_id is not None else self.rows.get(own_name(agent))

    def matched(self, agents: Sequence[Any]) -> list[Mapping[str, str]]:
        """The row of each agent.

        Raises:
            ValueError: if the rows and the agents do not match one to one.
        """
        found = [(agent, self.row_of(agent)) for agent in agents]
        used = Counter(id(row) for _, row in found)
        without = [str(agent.unique_id) for agent, row in found if row is None]
        unused = [key for key, row in self.rows.items() if not used[id(row)]]
        several = [key for key, row in self.rows.items() if used[id(row)] > 1]
        for what, names in (
            ("no row for the agents", without),
            ("rows of no agent:", unused),
            ("rows of several agents:", several),
        ):
            if names:
                raise ValueError(
                    f"the table of biographies has {what} {', '.join(names[:10])}; it "
                    "must have one row for each of the agents, by unique id or name. "
                    "Pass the agents that it describes, or mend the table"
                )
        return [row for _, row in found if row is not None]


def _cells(path: Path) -> list[list[str]]:
    """The rows of a file of comma-separated values that are not blank.

    It may also have semicolons or tabs, or be UTF-16, as spreadsheets save it.

    Raises:
        ValueError: if its encoding or its separator cannot be known.
    """
    data = path.read_bytes()
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path.name} is not UTF-8. Save it as 'CSV UTF-8' in your spreadsheet, or "
            f"give pandas.read_csv({path.name!r}, encoding='cp1252')"
        ) from error
    if stated := re.match(r"sep=(.)\r?\n?", text):  # of Excel, for itself
        return _split(text[stated.end() :], stated[1])
    header = text.lstrip("\r\n").splitlines()[:1]
    found = [mark for mark in SEPARATORS if mark in "".join(header)] or [","]
    if len(found) > 1:
        found = [
            mark for mark in found if len({len(row) for row in _split(text, mark)}) == 1
        ]
    if len(found) != 1:
        raise ValueError(
            f"the header of {path.name} has commas, semicolons or tabs, and which of "
            "them separates its columns is not clear. Give pandas.read_csv("
            f"{path.name!r}, sep=…)"
        )
    return _split(text, found[0])


def _split(text: str, separator: str) -> list[list[str]]:
    rows = csv.reader(StringIO(text, newline=""), delimiter=separator)
    return [row for row in rows if any(map(str.strip, row))]


def _rows(columns: Sequence[str], cells: Iterable[Sequence[Any]]) -> dict[str, Any]:
    """Value by field, by the person's key."""
    twice = [name for name, number in Counter(columns).items() if number > 1]
    if not columns or "" in columns or twice:
        raise ValueError(
            "the columns of a table of biographies must have names, each its own, got "
            f"{columns}"
        )
    key = next((name for name in KEY_COLUMNS if name in columns), columns[0])
    rows: dict[str, Any] = {}
    for number, row in enumerate(cells, 1):
        if len(row) != len(columns):
            raise ValueError(
                f"row {number} of the table of biographies has {len(row)} cells, and the "
                f"header has {len(columns)}; quote values that contain the separator"
            )
        texts = dict(zip(columns, map(_text, row), strict=True))
        name = texts.pop(key)
        if not name or name in rows:
            raise ValueError(
                f"row {number} of the table of biographies has {name!r} as its {key}: it "
                "must be the unique id or the name of an agent, once"
            )
        rows[name] = {field: value for field, value in texts.items() if value}
    return rows


def _text(value: Any) -> str:
    """A cell on one line; whole numbers without decimals."""
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():  # a column with empty cells
        value = int(value)
    return storable(one_line(" ".join(str(value).split())))
