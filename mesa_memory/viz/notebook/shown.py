"""What an agent remembered at a step, and what came to its mind, for a notebook."""

from dataclasses import dataclass
from typing import Any

from mesa_memory.runs import Run
from mesa_memory.viz.data.agent import Past, Row, layer_views, past, text_of
from mesa_memory.viz.data.recall import Candidate, Recall, recalls, understood
from mesa_memory.viz.templates import template

#: where the templates are
PACKAGE = "mesa_memory.viz.notebook"
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
    own, at = _place(run, agent, step)
    return memory_of(past(run, own), called(own, run.names.get(own)), at)


def recalls_at(run: Run, agent: Any, step: float | None = None) -> Shown:
    """What came to an agent's mind in a step, with the parts of each score.

    Args:
        agent: unique id or name.
        step: a finished step; None is the last one.

    Raises:
        ValueError: if the run has no such agent or step; names those it has.
    """
    own, at = _place(run, agent, step)
    return recalls_of(run, past(run, own), own, at)


def memory_of(remembered: Past, whose: str, step: float) -> Shown:
    """See ``memory_at``; of an agent whose past was read."""
    layers = [
        {
            "name": view.layer,
            "texts": [(row["kind"], text_of(row)) for row, _ in view.texts],
            "tables": {kind: _lines(rows) for kind, rows in view.tables.items()},
        }
        for view in layer_views(remembered, step)
    ]
    title = f"{whose} remembered at the end of step {step:g}"
    lines = [title, *(f"- {text_of(row)}" for row in remembered.at(step))]
    page = template(PACKAGE, "memory.html")
    html = page.render(title=title, layers=layers, longest=LONGEST)
    return Shown(html, "\n".join(lines))


def recalls_of(run: Run, remembered: Past, agent: Any, step: float) -> Shown:
    """See ``recalls_at``; of an agent whose past was read."""
    found = [understood(row, remembered) for row in recalls(run, agent, step)]
    whose = called(agent, run.names.get(agent))
    title = f"Came to the mind of {whose} in step {step:g}"
    page = template(PACKAGE, "recalls.html")
    html = page.render(title=title, recalls=map(_recall, found))
    lines = [
        f"{one.rank}. {one.score:.3f} {one.text}"
        for recall in found
        for one in recall.candidates[:LONGEST]
    ]
    return Shown(html, "\n".join([title, *lines]))


def called(agent: Any, name: str | None) -> str:
    """How people call an agent.

    Args:
        agent: its unique id.
        name: its own; None if it has no name.
    """
    return f"Agent {agent}" if name is None else f"{name} ({agent})"


def _place(run: Run, agent: Any, step: float | None) -> tuple[Any, float]:
    """An agent's unique id and a finished step; raises as ``Run.prompt`` does."""
    run.prompt(agent, step)
    at = run.steps[-1] if step is None else float(step)
    return run.unique_ids[run.name_of(agent)], at


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
