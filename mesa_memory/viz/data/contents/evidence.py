"""Conclusions of an agent, and the events that they rest on."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from types import MappingProxyType
from typing import Any

from mesa_memory.core.content import cut
from mesa_memory.runs import Run
from mesa_memory.viz.data.agent import Past, Row, text_of
from mesa_memory.viz.data.interventions import Intervention

#: limits of what is sent to a browser
TREE_LINES, LINE_CHARS = 5_000, 600


@dataclass(frozen=True)
class EvidenceTree:
    """A record and its sources.

    Attributes:
        lines: of ``Run.provenance``, depth first, the record itself at the top.
        events: the raw events among them, each once, oldest first.
        missing: ids that are not in the run, each once.
    """

    lines: list[Row]
    events: list[Row]
    missing: list[str]

    @property
    def record(self) -> Row:
        """The record itself."""
        return self.lines[0]

    @property
    def kinds(self) -> dict[str, int]:
        """Number of events of each kind."""
        return dict(sorted(Counter(row["kind"] for row in self.events).items()))


def conclusions(past: Past, step: float) -> list[Row]:
    """The records that an agent's memory made by the end of a step, newest first."""
    made = past.made(step)
    return sorted(made, key=lambda row: (row["valid_from"], row["seq"]), reverse=True)


def evidence(run: Run, record: str) -> EvidenceTree:
    """The sources of a record.

    Raises:
        ValueError: if the record is not in the run.
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
    return EvidenceTree(lines, events, list(gone))


def nodes(
    found: EvidenceTree,
    past: Past,
    called: Callable[[Any], str] = str,
    changed: Mapping[str, Intervention] = MappingProxyType({}),
) -> list[dict[str, Any]]:
    """The lines for a tree in a page, at most ``TREE_LINES``.

    Args:
        called: gives the name of an agent.
        changed: interventions by the id of a record.

    Returns:
        For each line ``id``, ``depth``, ``head`` (kind, step and agent), ``note``,
        ``text``, and ``known``, False if it is not in the run.
    """
    return [
        {
            "id": line["id"],
            "depth": line["depth"],
            "head": _head(line, called),
            "note": _note(line, past.by_id.get(line["id"]), changed.get(line["id"])),
            "text": _text(line, past.by_id.get(line["id"])),
            "known": not line["missing"],
        }
        for line in found.lines[:TREE_LINES]
    ]


def _text(line: Row, row: Row | None) -> str:
    """The text of a record, as agents are shown it if it is of the agent's own past."""
    full = text_of(row) if row else line["text"] or ""
    return cut(full, LINE_CHARS) if line["depth"] else full


def standing(row: Row, step: float = inf) -> str:
    """``"remembered"`` at the end of a step, or the reason and step of the record's end."""
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
        return "missing: the record is not in this run"
    if line["repeated"]:
        return "shown above"
    notes = [f"{by_hand.says} at step {by_hand.step:.15g}"] if by_hand else []
    if row is not None and row["valid_to"] is not None:
        notes.append(standing(row))
    return "; ".join(notes)
