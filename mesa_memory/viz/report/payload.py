"""The data that a report's page draws, as plain lists and short names."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from mesa_memory.core.redaction import scrub
from mesa_memory.viz.report.people import (
    Person,
    cut,
    recall_row,
    record_row,
    shown_text,
)
from mesa_memory.viz.report.population import Measure, Population
from mesa_memory.viz.report.sampling import Sample


class Texts:
    """Numbers of texts, so that each is written once.

    Args:
        chars: what is longer is cut.
    """

    def __init__(self, chars: int) -> None:
        self._chars = chars
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of a text."""
        shown = scrub(cut(text, self._chars))
        return self._numbers.setdefault(shown, len(self._numbers))

    def optional(self, text: str | None) -> int | None:
        """The number of a text; None for none."""
        return None if text is None else self.number(text)

    @property
    def all(self) -> list[str]:
        """The texts in the order of their numbers."""
        return list(self._numbers)


def payload(
    everyone: Population, people: Sequence[Person], sample: Sample
) -> dict[str, Any]:
    """What the page is given as JSON.

    Args:
        people: those that were chosen; the sample says how many are taken.
    """
    texts = Texts(sample.chars)
    places = {agent: place for place, agent in enumerate(everyone.agents)}
    taken = [_person(one, places, texts, sample) for one in people[: sample.people]]
    return {
        "steps": everyone.steps,
        "agents": [
            [str(agent), everyone.names.get(agent), *position]
            for agent, position in zip(everyone.agents, everyone.positions)
        ],
        "messages": _messages(everyone, texts, sample),
        "measures": [_measure(measure) for measure in everyone.measures],
        "people": taken,
        "texts": texts.all,
    }


def _messages(
    everyone: Population, texts: Texts, sample: Sample
) -> list[list[Any] | None]:
    """For each step the messages as [sender, text, recipients]; None if left out."""
    steps = len(everyone.steps)
    found: list[list[Any] | None] = [
        [] if sample.takes(place, steps) else None for place in range(steps)
    ]
    for message in everyone.messages:
        row = found[message.place]
        if row is not None:
            number = texts.number(message.words)
            row.append([message.sender, number, list(message.recipients)])
    return found


def _measure(measure: Measure) -> dict[str, Any]:
    of_agents = np.nan_to_num(measure.of_agents).astype(int)
    return {
        "name": measure.name,
        "hint": measure.hint,
        "total": [_plain(value) for value in measure.total.tolist()],
        "agents": of_agents.T.tolist(),
    }


def _plain(value: float) -> float | int:
    return int(value) if value == int(value) else value


def _person(
    one: Person, places: dict[Any, int], texts: Texts, sample: Sample
) -> dict[str, Any]:
    rows = one.past.rows
    known = {row["id"]: place for place, row in enumerate(rows)}
    return {
        "agent": places[one.agent],
        "memory": one.memory,
        "records": [
            record_row(
                row,
                texts.number(shown_text(row, sample.chars)),
                known,
                texts.optional(row["closed_because"]),
            )
            for row in rows
        ],
        "recalls": [
            recall_row(found, known, sample.candidates, texts.optional(found.query))
            for found in one.recalls
        ],
    }


def as_json(value: Any) -> str:
    """JSON that can stand in a script element: no sign in it begins or ends markup."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
