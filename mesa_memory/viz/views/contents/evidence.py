"""The conclusions of an agent, each as a tree down to the events that it rests on."""

from typing import Any

import solara

import mesa_memory.viz.widgets as ui
from mesa_memory.core.content import brief, cut
from mesa_memory.runs.versions import source_ids
from mesa_memory.viz.data import interventions
from mesa_memory.viz.data.agent import text_of
from mesa_memory.viz.data.contents import evidence as data
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.views.navigation import to_agent
from mesa_memory.viz.views.nothing import Elsewhere
from mesa_memory.viz.widgets.passages import Tree

#: characters of a conclusion in the list; the tree has more
LISTED_CHARS = 240
#: characters of a conclusion in the answer
QUOTED_CHARS = 120


@solara.component
def EvidenceView(focus: Focus) -> Any:
    """One of the agent's conclusions as a tree, and the list of all until the step."""
    past = focus.past
    made = data.conclusions(past, focus.step)
    wanted = focus.selection.option("record", "")
    chosen = wanted if wanted in past.by_id else made[0]["id"] if made else ""
    if not chosen:
        Elsewhere(focus, "evidence", f"{focus.title} had concluded nothing by then.")
        return
    with solara.Column(gap="0px"):
        if wanted and wanted != chosen:
            ui.Note(f"Agent {focus.name} has no record {wanted!r}; choose one below.")
        Because(focus, chosen).key(chosen)
        Conclusions(focus, made, chosen)


def Conclusions(focus: Focus, made: list[data.Row], chosen: str) -> Any:
    """The conclusions, newest first; a click chooses one."""
    with ui.Section(
        f"Conclusions of agent {focus.name}",
        f"until step {ui.number(focus.step)}; click one to see its evidence",
    ):
        ui.Table(
            {
                "since step": "valid_from",
                "kind": "kind",
                "layer": "layer",
                "about": "subject",
                "sources": lambda row: len(source_ids(row)),
                "state": lambda row: data.standing(row, focus.step),
                "text": lambda row: cut(text_of(row), LISTED_CHARS),
            },
            made,
            file=f"agent-{focus.agent}-conclusions",
            marked=lambda row: row["id"] == chosen,
            mark="shown above",
            on_pick=lambda row: focus.selection.set_option("record", row["id"]),
            page=5,
        )


@solara.component
def Because(focus: Focus, record: str) -> Any:
    """The tree of a record."""
    past, source = focus.past, focus.source
    found = source.of(data.evidence, record)
    changed = interventions.of_records(source.of(interventions.interventions))
    nodes = solara.use_memo(
        lambda: data.nodes(found, past, source.called, changed),
        [id(found), id(past), len(changed)],
    )

    def go(place: int) -> None:
        line = found.lines[place]
        to_agent(source, focus.selection, line["agent"], line["step"])

    kinds = [f"{n} {kind}{'s' * (n != 1)}" for kind, n in found.kinds.items()]
    now = found.record
    ui.Answer(
        f"{focus.title} concluded “{brief(now['text'] or now['id'], QUOTED_CHARS).rstrip('.')}” "
        f"from {' and '.join(kinds) or 'no recorded event'}."
    )
    with ui.Section(f"Evidence of {record}"):
        Summary(focus, found)
        if one := changed.get(record):
            ui.Note(f"It was {one.says}, at step {ui.number(one.step)}.", "warning")
        Tree(
            nodes=nodes, label=f"Evidence of {record}: {len(nodes)} lines", event_go=go
        )
        if len(found.lines) > len(nodes):
            ui.Note(
                f"Shown are the first {len(nodes):,} of {len(found.lines):,} lines. "
                "Choose a record further down, or use Run.provenance for all.",
                "warning",
            )


@solara.component
def Summary(focus: Focus, found: data.EvidenceTree) -> Any:
    """The faults of the evidence, if there are any."""
    row = focus.past.by_id.get(found.record["id"])
    step = focus.selection.choice.step
    if row and step is not None and row["valid_from"] > step:
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
