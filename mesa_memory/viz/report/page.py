"""Writes the page of a report."""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from mesa_memory import __version__
from mesa_memory.core.content import one_line
from mesa_memory.core.text.redaction import scrub, scrub_data
from mesa_memory.runs import Run
from mesa_memory.viz.data.agent import text_of
from mesa_memory.viz.report.methods import methods
from mesa_memory.viz.report.payload import as_json, payload
from mesa_memory.viz.report.people import Person, person
from mesa_memory.viz.report.population import Population, chosen_agents, population
from mesa_memory.viz.report.sampling import Sample, samples
from mesa_memory.viz.templates import template

#: bytes of a report that can still be sent by mail
LARGEST = 5_000_000
#: agents whose memory is shown if none are named
PEOPLE = 6
_COST = (
    "calls", "tokens_in", "tokens_cached", "tokens_out", "cost", "latency", "failures",
)  # fmt: skip


@dataclass(frozen=True)
class Written:
    """A report that was written.

    Attributes:
        path: the file.
        size: its bytes.
        notes: what was left out so that it is not larger, in sentences.
    """

    path: Path
    size: int
    notes: list[str]


def write_report(
    run: Run,
    path: str | Path,
    agents: Sequence[Any] | None = None,
    *,
    about: str = "",
    unlike: str = "",
    title: str | None = None,
    largest: int = LARGEST,
    overwrite: bool = False,
) -> Written:
    """Writes one HTML file that shows a recorded run without a server or a network.

    It plays the story (who told what to whom), and has curves, the memory of chosen
    agents at every step, their recalls with the parts of each score, evidence trees,
    cost, configuration and versions, and a methods text. All that agents said is shown as text; the file runs its own script
    alone and loads nothing.

    Args:
        run: of ``open_run``.
        path: of the file; its folder must exist.
        agents: unique ids or names of those whose memory is shown in full; None takes
            those with most to tell, at most 6.
        about: a text; its spread becomes a curve and the colour of the agents.
        unlike: what is more similar to this text than to ``about`` does not count, such
            as the denial of a rumour.
        title: None is the run's name, or that of the model's class.
        largest: bytes. What would make the file larger is left out, and the file says
            so.
        overwrite: replace a file that exists.

    Raises:
        ValueError: if the run has no finished step or no such agent, or if not even the
            smallest report is small enough.
        FileExistsError: if there is such a file, and ``overwrite`` is False.
    """
    target = Path(path)
    if target.exists() and not overwrite:
        raise FileExistsError(
            f"{target} exists; choose another name, or allow it to be overwritten"
        )
    if not run.steps:
        raise ValueError(
            f"run {run.id} has no finished step yet; write the report after the first one"
        )
    everyone = population(run, about, unlike)
    listed = run.agents(as_records=True)
    memories = {row["agent"]: str(row["memory"]) for row in listed}
    chosen = chosen_agents(run, everyone, agents, PEOPLE)
    people = [person(run, agent, memories.get(agent, "")) for agent in chosen]
    said = {
        "title": one_line(title or run.name or run.model.rpartition(".")[2]),
        "facts": _facts(run, len(everyone.agents)),
        "parameters": scrub_data(run.parameters),
        "versions": run.versions,
        "cost": _cost(run),
        "cost_columns": _COST,
        "methods": scrub(methods(run, listed, people)),
        "about": about.strip(),
        "made_with": __version__,
    }
    text, notes = _fitting(everyone, people, said, largest)
    target.write_bytes(text)
    return Written(target, len(text), notes)


def _fitting(
    everyone: Population, people: Sequence[Person], said: dict[str, Any], largest: int
) -> tuple[bytes, list[str]]:
    """The page with as much as there is room for, and what it leaves out."""
    whole: Sample | None = None
    size, most = 0, (_longest(everyone, people), _recalled(people))
    for sample in samples(len(people), len(everyone.steps)):
        whole = whole or sample
        notes = sample.notes(whole, *most)
        text = _page(payload(everyone, people, sample), notes, said)
        size = len(text)
        if size <= largest:
            return text, notes
    raise ValueError(
        f"the smallest report of this run has {size:,} bytes, {largest:,} are allowed; "
        "allow more"
    )


def _longest(everyone: Population, people: Sequence[Person]) -> int:
    said = max((len(message.words) for message in everyone.messages), default=0)
    rows = (row for one in people for row in one.past.rows)
    return max(said, max((len(text_of(row)) for row in rows), default=0))


def _recalled(people: Sequence[Person]) -> int:
    recalls = (recall for one in people for recall in one.recalls)
    return max((len(recall.candidates) for recall in recalls), default=0)


def _page(data: dict[str, Any], notes: list[str], said: dict[str, Any]) -> bytes:
    folder = files("mesa_memory.viz.report")
    style = (folder / "report.css").read_text(encoding="utf-8")
    script = (folder / "report.js").read_text(encoding="utf-8")
    page = template("mesa_memory.viz.report", "report.html").render(
        **said,
        notes=notes,
        style=style,
        script=script,
        data=as_json(data),
        policy=_policy(style, script),
    )
    return page.encode("utf-8", "replace")


def _policy(style: str, script: str) -> str:
    """A Content-Security-Policy: this style and this script, and nothing else."""
    return (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _facts(run: Run, agents: int) -> list[tuple[str, str]]:
    steps = run.steps
    found = [
        ("Model", run.model),
        ("Run", f"{run.id}" + (f" ({run.name})" if run.name else "")),
        ("State", run.status),
        ("Random seed", run.seed),
        ("Agents", str(agents)),
        ("Steps", f"{len(steps)} ({steps[0]:g} to {steps[-1]:g})"),
    ]
    return [(name, one_line(str(value))) for name, value in found if value is not None]


def _cost(run: Run) -> list[dict[str, Any]]:
    rows = run.cost(("purpose", "model"), as_records=True)
    total = run.cost((), as_records=True)[0] | {"purpose": "total", "model": ""}
    return [_shown(row) for row in ([*rows, total] if rows else [])]


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    numbers = {
        name: f"{row[name]:,}" for name in _COST if name not in ("cost", "latency")
    }
    unknown = f"unknown for {row['unpriced']}"
    price = unknown if row["cost"] is None else f"{row['cost']:.4f}"
    purpose, model = row["purpose"] or "", row["model"] or ""
    named = {"purpose": scrub(purpose), "model": scrub(model)}
    return named | numbers | {"cost": price, "latency": f"{row['latency']:.1f}"}
