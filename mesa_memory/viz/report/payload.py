"""The data that a report's page draws, as plain lists and short names."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from mesa_memory.core.content import cut
from mesa_memory.core.text.redaction import scrub
from mesa_memory.viz.data.agent import text_of
from mesa_memory.viz.report.measures import Measure
from mesa_memory.viz.report.people import Person, recall_row, record_row
from mesa_memory.viz.report.population import Population
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
        "agents": [[str(one), everyone.names.get(one)] for one in everyone.agents],
        "places": _places(everyone, sample),
        "ties": everyone.stage.ties,
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


def _places(everyone: Population, sample: Sample) -> list[Any]:
    """Where everybody is, once or for each step; None for steps that are left out."""
    places = everyone.stage.places
    if len(places) == 1:
        return places
    taken = (sample.takes(n, len(places)) for n in range(len(places)))
    return [spots if take else None for spots, take in zip(places, taken)]


def _measure(measure: Measure) -> dict[str, Any]:
    values = measure.of_agents
    return {
        "name": scrub(measure.name),
        "hint": scrub(measure.hint),
        "lines": [[scrub(label), _numbers(line)] for label, line in measure.lines],
        "classes": [scrub(word) for word in measure.classes],
        "agents": None if values is None else [_numbers(row) for row in values.T],
    }


def _numbers(values: np.ndarray) -> list[float | int | None]:
    """Numbers as JSON has them, short; NaN is None."""
    rounded = np.round(values.astype(float), 4).tolist()
    return [None if v != v else int(v) if v == int(v) else v for v in rounded]


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
                texts.number(text_of(row)),
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
