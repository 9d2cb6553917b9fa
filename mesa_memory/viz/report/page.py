"""Writes the page of a report."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from mesa_memory import __version__
from mesa_memory.core.content import one_line
from mesa_memory.core.notebook import NotebookShown
from mesa_memory.core.text.redaction import scrub, scrub_data
from mesa_memory.experiments.reports.facts import facts_of_run
from mesa_memory.experiments.reports.methods import methods
from mesa_memory.experiments.reports.templates import policy, template
from mesa_memory.runs import Run
from mesa_memory.viz.report.contents import Contents, Person, contents
from mesa_memory.viz.report.payload import as_json, payload, samples

#: bytes of a report that can still be sent by mail
MAX_BYTES = 5_000_000
#: rows of the table of decisions
MAX_DECISIONS = 500


@dataclass(frozen=True)
class Written(NotebookShown):
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
    title: str | None = None,
    largest: int = MAX_BYTES,
    overwrite: bool = False,
) -> Written:
    """Writes one HTML file that shows a recorded run without a server or a network.

    It plays the story (who told what to whom), and has curves, the memory of chosen
    agents at every step, their recalls with the parts of each score, their decisions,
    evidence trees, cost, configuration and versions, and a methods text. Texts of agents
    are shown as text. The file runs its own script only, and loads nothing.

    Args:
        run: of ``open_run``.
        path: of the file; its folder must exist.
        agents: unique ids or names of those whose memory is shown in full; None takes
            those with most to tell, at most 6.
        about: a text; its spread becomes a curve and the colour of the agents, and the
            sentences that were counted are listed. Denials have a curve of their own.
        title: None takes the run's name, or the name of the model's class.
        largest: bytes. What would make the file larger is left out, and the file says
            so.
        overwrite: replace a file that exists.

    Raises:
        ValueError: for an unknown agent, a text without words, without a finished step,
            or if the smallest report is larger than allowed.
        FileExistsError: if there is such a file, and ``overwrite`` is False.
    """
    target = Path(path)
    if target.exists() and not overwrite:
        raise FileExistsError(
            f"{target} exists; choose another name, or allow it to be overwritten"
        )
    if not run.steps:
        raise ValueError(
            f"run {run.id} has not finished a step yet; write the report after the first one"
        )
    found = contents(run, agents, about)
    given = {
        "run": run,
        "title": one_line(title or run.name or run.model.rpartition(".")[2]),
        "agents": len(run.unique_ids),
        "parameters": scrub_data(run.parameters),
        "cost": _cost(run),
        "methods": scrub(methods(facts_of_run(run, _weights(found.people)))),
        "about": about.strip(),
        "counted": scrub_data(found.sentences),
        "decided": _decided(found),
        "all_decided": len(found.decided),
        "last": run.steps[-1],
        "made_with": __version__,
    }
    text, notes = _fitting(found, given, largest)
    target.write_bytes(text)
    return Written(target, len(text), notes)


def _fitting(
    found: Contents, given: dict[str, Any], largest: int
) -> tuple[bytes, list[str]]:
    """The largest page within the limit, and its omissions."""
    for sample in samples(len(found.people), len(found.messages)):
        data, notes = payload(found, sample)
        text = _page(data, notes, given)
        if len(text) <= largest:
            return text, notes
    raise ValueError(
        f"the smallest report of this run has {len(text):,} bytes, {largest:,} are "
        "allowed; allow more"
    )


def _page(data: dict[str, Any], notes: list[str], given: dict[str, Any]) -> bytes:
    folder = files("mesa_memory.viz.report")
    style = (folder / "report.css").read_text(encoding="utf-8")
    script = (folder / "report.js").read_text(encoding="utf-8")
    page = template("mesa_memory.viz.report", "report.html").render(
        **given,
        notes=notes,
        style=style,
        script=script,
        data=as_json(data),
        policy=policy(style, script),
    )
    return page.encode("utf-8", "replace")


def _weights(people: list[Person]) -> list[str]:
    """The weights of the recalls of some agents; at most three kinds."""
    recalls = [recall for each in people for recall in each.recalls]
    found = []
    for recall in recalls:
        pairs = zip(recall.names, recall.weights)
        told = ", ".join(f"{name} ({w:g})" for name, w in pairs if w)
        if "unit" in recall.scoring:
            names = "decay", "noise", "threshold", "spacing"
            rules = ", ".join(f"{name} {recall.scoring.get(name)}" for name in names)
            told += f"; recency is the base-level activation of ACT-R ({rules}; a step "
            told += f"stands for {recall.scoring['unit']} seconds)"
        found.append(told)
    return list(dict.fromkeys(filter(None, found)))[:3]


def _decided(found: Contents) -> list[dict[str, Any]]:
    """The rows of the table of decisions; the newest, if there are very many."""
    apart = {a: f"{n} ({a})" for a, n in found.names.items() if n not in ("", str(a))}
    newest = found.decided[-MAX_DECISIONS:]
    return scrub_data(
        [row | {"agent": apart.get(row["agent"], row["agent"])} for row in newest]
    )


def _cost(run: Run) -> list[dict[str, Any]]:
    """The sums by purpose and model, and the total; empty without a request."""
    rows = run.cost(("purpose", "model"), as_records=True)
    total = run.cost((), as_records=True)[0] | {"purpose": "total", "model": ""}
    return scrub_data([*rows, total] if rows else [])
