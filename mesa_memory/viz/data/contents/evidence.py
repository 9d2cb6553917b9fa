"""What an agent concluded, and the events that it rests on."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from mesa_memory.core.content import cut
from mesa_memory.core.records import DERIVED
from mesa_memory.runs import Run
from mesa_memory.viz.data.agent import Past, Row, text_of
from mesa_memory.viz.data.interventions import Intervention

#: more lines than this, and more of each text, are not sent to a browser
TREE_LINES, LINE_CHARS = 5_000, 600


@dataclass(frozen=True)
class Evidence:
    """A record and what it was made from.

    Attributes:
        lines: of ``Run.provenance``, depth first, the record itself at the top.
        events: the raw events among them, each once, oldest first.
        missing: ids that the run does not have, each once.
    """

    lines: list[Row]
    events: list[Row]
    missing: list[str]

    @property
    def record(self) -> Row:
        """The record itself."""
        return self.lines[0]

    @property
    def depth(self) -> int:
        """How many levels are below the record."""
        return max(line["depth"] for line in self.lines)

    @property
    def kinds(self) -> dict[str, int]:
        """How many events there are of each kind."""
        return dict(sorted(Counter(row["kind"] for row in self.events).items()))


def conclusions(past: Past, step: float) -> list[Row]:
    """What an agent's memory made until the end of a step, newest first."""
    derived = [row for row in past.rows if row["origin"] == DERIVED]
    made = [row for row in derived if row["valid_from"] <= step]
    return sorted(made, key=lambda row: (row["valid_from"], row["seq"]), reverse=True)


def evidence(run: Run, record: str) -> Evidence:
    """What a record rests on.

    Raises:
        ValueError: if the run has no such record.
    """
    lines = run.provenance(record, as_records=True)
    parents = {line["parent"] for line in lines}
    raw: dict[str, Row] = {}
    gone: dict[str, None] = {}
    for line in lines[1:]:
        if line["missing"]:
            gone[line["id"]] = None
        elif line["id"] not in parents and not line["repeated"]:
            raw[line["id"]] = line
    events = sorted(raw.values(), key=lambda line: line["step"])
    return Evidence(lines, events, list(gone))


def nodes(
    found: Evidence,
    past: Past,
    called: Callable[[Any], str] = str,
    changed: Mapping[str, Intervention] = MappingProxyType({}),
) -> list[dict[str, Any]]:
    """The lines for a tree in a page, at most ``TREE_LINES``.

    Args:
        called: how people call an agent.
        changed: what was done by hand, by the id of a record.

    Returns:
        For each line ``id``, ``depth``, ``head`` (what it is), ``note`` (what one has
        to know of it), ``text``, and ``known``, False if the run does not have it.
    """
    return [
        {
            "id": line["id"],
            "depth": line["depth"],
            "head": _head(line, called),
            "note": _note(line, past.by_id.get(line["id"]), changed.get(line["id"])),
            "text": text(line, past, LINE_CHARS if line["depth"] else None),
            "known": not line["missing"],
        }
        for line in found.lines[:TREE_LINES]
    ]


def text(line: Row, past: Past, limit: int | None = None) -> str:
    """A record as people read it, if it is of the agent's own past.

    Args:
        line: a record, or a line of its evidence.
        limit: characters after which it is cut; None is all.
    """
    row = past.by_id.get(line["id"])
    full = text_of(row) if row else line["text"] or ""
    return full if limit is None else cut(full, limit)


def standing(row: Row, step: float) -> str:
    """Whether a record was still remembered at the end of a step, and else why not."""
    end = row["valid_to"]
    if end is None or end > step:
        return "remembered"
    return f"{row['closed_because'] or 'ended'} in step {end:.15g}"


def _head(line: Row, called: Callable[[Any], str]) -> str:
    if line["missing"]:
        return line["id"]
    return f"{line['kind']}, step {line['step']:.15g}, agent {called(line['agent'])}"


def _note(line: Row, row: Row | None, by_hand: Intervention | None) -> str:
    if line["missing"]:
        return "missing: this run does not have the record"
    if line["repeated"]:
        return "told above"
    notes = [f"{by_hand.says} at step {by_hand.step:.15g}"] if by_hand else []
    if row is not None and row["valid_to"] is not None:
        notes.append(
            f"{row['closed_because'] or 'ended'} in step {row['valid_to']:.15g}"
        )
    return "; ".join(notes)
