"""The chosen people of a report: all that each remembered, and what came to its mind."""

from dataclasses import dataclass
from typing import Any

from mesa_memory.core.records import DERIVED
from mesa_memory.runs import Run
from mesa_memory.viz.data import recall as recalling
from mesa_memory.viz.data.agent import Past, Row, past


@dataclass(frozen=True)
class Person:
    """An agent whose memory is in the report.

    Attributes:
        agent: its unique id.
        memory: class of its memory.
        past: every record it ever had.
        recalls: in order.
    """

    agent: Any
    memory: str
    past: Past
    recalls: list[recalling.Recall]


def person(run: Run, agent: Any, memory: str) -> Person:
    """Reads an agent."""
    remembered = past(run, agent)
    rows = recalling.recalls(run, agent)
    found = [recalling.understood(row, remembered) for row in rows]
    return Person(agent, memory, remembered, found)


def record_row(
    row: Row, text: int, places: dict[str, int], reason: int | None
) -> list[Any]:
    """A record as a list for the page: the order is that of ``RECORD`` in report.js.

    Args:
        row: of ``records``.
        text, reason: numbers of texts.
        places: of the agent's records by id.
    """
    sources = row["sources"] if isinstance(row["sources"], list) else []
    known = [places.get(source, -1) for source in sources if isinstance(source, str)]
    return [
        row["kind"],
        row["layer"],
        row["step"],
        row["valid_from"],
        row["valid_to"],
        reason,
        text,
        row["importance"],
        int(row["origin"] == DERIVED),
        known,
    ]


def recall_row(
    found: recalling.Recall, places: dict[str, int], most: int, query: int | None
) -> list[Any]:
    """A recall as a list for the page: the order is that of ``RECALL`` in report.js.

    Args:
        places: of the agent's records by id; a candidate that is not among them has -1.
        most: candidates; how many there were is told.
        query: number of its text.
    """
    weights = found.weighing(None)
    candidates = [
        [
            places.get(one.id, -1),
            round(one.score, 4),
            int(one.shown),
            [round(w * part, 4) for w, part in zip(weights, one.parts)],
        ]
        for one in found.candidates[:most]
    ]
    total = len(found.candidates)
    return [found.step, found.purpose, query, list(found.names), total, candidates]
