"""The conclusions of an agent, each as a tree down to the events that it rests on."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from types import MappingProxyType
from typing import Any

import solara

import mesa_memory.viz.widgets as ui
from mesa_memory.core.content import brief, cut
from mesa_memory.runs import Run
from mesa_memory.runs.past import Past, Row, text_of
from mesa_memory.runs.queries import source_ids
from mesa_memory.viz.data import interventions
from mesa_memory.viz.views.empty import EmptyView
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.widgets.passages import Tree

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
    changed: Mapping[str, Row] = MappingProxyType({}),
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


def _note(line: Row, row: Row | None, by_hand: Row | None) -> str:
    if line["missing"]:
        return "missing: the record is not in this run"
    if line["repeated"]:
        return "shown above"
    notes = [f"{by_hand['says']} at step {by_hand['step']:.15g}"] if by_hand else []
    if row is not None and row["valid_to"] is not None:
        notes.append(standing(row))
    return "; ".join(notes)


#: characters of a conclusion in the list; the tree has more
LISTED_CHARS = 240
#: characters of a conclusion in the answer
QUOTED_CHARS = 120


@solara.component
def EvidenceView(focus: Focus) -> Any:
    """One of the agent's conclusions as a tree, and the list of all until the step."""
    past = focus.past
    made = conclusions(past, focus.step)
    wanted = focus.selection.option("record", "")
    chosen = wanted if wanted in past.by_id else made[0]["id"] if made else ""
    if not chosen:
        EmptyView(focus, "evidence", f"{focus.title} had concluded nothing by then.")
        return
    with solara.Column(gap="0px"):
        if wanted and wanted != chosen:
            ui.Note(f"Agent {focus.name} has no record {wanted!r}; choose one below.")
        Because(focus, chosen).key(chosen)
        Conclusions(focus, made, chosen)


def Conclusions(focus: Focus, made: list[Row], chosen: str) -> Any:
    """The conclusions, newest first; a click chooses one."""
    columns = ui.named("valid_from kind layer subject") | {
        "sources": lambda row: len(source_ids(row)),
        "state": lambda row: standing(row, focus.step),
        "text": lambda row: cut(text_of(row), LISTED_CHARS),
    }
    file = f"agent-{focus.agent}-conclusions"
    title = f"Conclusions of agent {focus.name}"
    more = focus.chosen("record", chosen, "shown above")
    with ui.Section(title, f"until step {focus.at}; click one to see its evidence"):
        ui.Table(columns, made, file=file, page=5, **more)


@solara.component
def Because(focus: Focus, record: str) -> Any:
    """The tree of a record."""
    past, source = focus.past, focus.source
    found = source.of(evidence, record)
    changed = interventions.of_records(source.of(interventions.interventions))
    tree = solara.use_memo(
        lambda: nodes(found, past, source.called, changed),
        [id(found), id(past), len(changed)],
    )

    def go(place: int) -> None:
        line = found.lines[place]
        focus.to_agent(line["agent"], line["step"])

    kinds = [ui.counted(n, kind) for kind, n in found.kinds.items()]
    now = found.record
    ui.Answer(
        f"{focus.title} concluded “{brief(now['text'] or now['id'], QUOTED_CHARS).rstrip('.')}” "
        f"from {' and '.join(kinds) or 'no recorded event'}."
    )
    with ui.Section(f"Evidence of {record}"):
        Faults(focus, found)
        if one := changed.get(record):
            ui.Note(
                f"It was {one['says']}, at step {ui.number(one['step'])}.", "warning"
            )
        Tree(nodes=tree, label=f"Evidence of {record}: {len(tree)} lines", event_go=go)
        if len(found.lines) > len(tree):
            ui.Note(
                f"Shown are the first {len(tree):,} of {len(found.lines):,} lines. "
                "Choose a record further down, or use Run.provenance for all.",
                "warning",
            )


def Faults(focus: Focus, found: EvidenceTree) -> None:
    """The faults of the evidence, if there are any."""
    row = focus.past.by_id.get(found.record["id"])
    if row and row["valid_from"] > focus.step:
        ui.Note(
            f"It was concluded in step {ui.number(row['valid_from'])}, after the step "
            "that is selected."
        )
    if found.missing:
        ui.Note(
            f"{len(found.missing)} of its sources are not in this run. They were "
            "remembered before it was recorded, or the file was changed.",
            "warning",
        )
