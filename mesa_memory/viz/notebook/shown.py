"""What an agent remembered at a step, and what came to its mind, for a notebook."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from mesa_memory.runs import Run
from mesa_memory.viz.data.agent import Past, Row, past, shelves, text_of
from mesa_memory.viz.data.recall import Candidate, Recall, recalls, understood

#: colours of the parts of a score, in their order; Okabe and Ito's
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
#: records of a kind, and candidates of a recall, that are shown
LONGEST = 200


@dataclass(frozen=True)
class Shown:
    """Something that a notebook shows by itself.

    Attributes:
        html: markup of ours, in which all that agents said is text.
        text: the same for a terminal.
    """

    html: str
    text: str

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


def memory_at(run: Run, agent: Any, step: float | None = None) -> Shown:
    """What an agent remembered at the end of a step, layer by layer.

    Args:
        agent: unique id or name.
        step: a finished step; None is the last one.

    Raises:
        ValueError: if the run has no such agent or step; names those it has.
    """
    at, own = _step(run, agent, step), run.unique_ids[run.name_of(agent)]
    return memory_of(past(run, own), _called(run, own), at)


def recalls_at(run: Run, agent: Any, step: float | None = None) -> Shown:
    """What came to an agent's mind in a step, with the parts of each score.

    Args:
        agent: unique id or name.
        step: a finished step; None is the last one.

    Raises:
        ValueError: if the run has no such agent or step; names those it has.
    """
    at, own = _step(run, agent, step), run.unique_ids[run.name_of(agent)]
    return recalls_of(run, past(run, own), own, at)


def memory_of(remembered: Past, called: str, step: float) -> Shown:
    """See ``memory_at``; of an agent whose past was read."""
    layers = [
        {
            "name": shelf.layer,
            "texts": [(row["kind"], text_of(row)) for row, _ in shelf.texts],
            "tables": {kind: _lines(rows) for kind, rows in shelf.tables.items()},
        }
        for shelf in shelves(remembered, step)
    ]
    title = f"{called} remembered at the end of step {step:g}"
    lines = [title, *(f"- {text_of(row)}" for row in remembered.at(step))]
    html = _template("memory.html").render(title=title, layers=layers, longest=LONGEST)
    return Shown(html, "\n".join(lines))


def recalls_of(run: Run, remembered: Past, agent: Any, step: float) -> Shown:
    """See ``recalls_at``; of an agent whose past was read."""
    found = [understood(row, remembered) for row in recalls(run, agent, step)]
    title = f"Came to the mind of {_called(run, agent)} in step {step:g}"
    html = _template("recalls.html").render(title=title, recalls=map(_recall, found))
    lines = [
        f"{one.rank}. {one.score:.3f} {one.text}"
        for recall in found
        for one in recall.candidates[:LONGEST]
    ]
    return Shown(html, "\n".join([title, *lines]))


def _step(run: Run, agent: Any, step: float | None) -> float:
    """A finished step; raises like ``Run.prompt`` if there is none."""
    run.prompt(agent, step)
    return run.steps[-1] if step is None else float(step)


def _called(run: Run, agent: Any) -> str:
    name = run.names.get(agent)
    return f"Agent {agent}" if name is None else f"{name} ({agent})"


def _lines(rows: list[Row]) -> list[tuple[str, str, str, str]]:
    return [
        (f"{row['step']:g}", row["kind"], text_of(row), _grade(row["importance"]))
        for row in rows
    ]


def _grade(importance: float | None) -> str:
    return "" if importance is None else f"{importance:g}"


def _recall(found: Recall) -> dict[str, Any]:
    weights = found.weighing(None)
    best = max((one.score for one in found.candidates), default=0) or 1
    return {
        "purpose": found.purpose,
        "query": found.query,
        "left_out": max(0, len(found.candidates) - LONGEST),
        "candidates": [
            _candidate(one, found.names, weights, best)
            for one in found.candidates[:LONGEST]
        ],
    }


def _candidate(
    one: Candidate, names: tuple[str, ...], weights: tuple[float, ...], best: float
) -> dict[str, Any]:
    weighed = [weight * part for weight, part in zip(weights, one.parts)]
    parts = [
        {
            "name": name,
            "value": f"{value:.3f}",
            "width": f"{max(0.0, min(1.0, value / best)) * 200:.1f}",
            "colour": COLOURS[place % len(COLOURS)],
        }
        for place, (name, value) in enumerate(zip(names, weighed))
        if value
    ]
    told = {"rank": one.rank, "score": f"{one.score:.3f}", "text": one.text}
    return told | {"shown": one.shown, "parts": parts}


@cache
def _template(name: str) -> Any:
    from jinja2 import Environment

    text = (files("mesa_memory.viz.notebook") / name).read_text(encoding="utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(text)
