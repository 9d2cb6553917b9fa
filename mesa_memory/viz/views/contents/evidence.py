"""What an agent concluded, as a tree down to the events that it rests on."""

from typing import Any

import solara

from mesa_memory.runs.versions import source_ids
from mesa_memory.viz.data import agent as memories
from mesa_memory.viz.data import interventions, leads
from mesa_memory.viz.data.contents import evidence as data
from mesa_memory.viz.data.requests import origins
from mesa_memory.viz.data.requests import requests as asked
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.views.navigation import to_agent, to_request
from mesa_memory.viz.views.nothing import NoMemories, SeeMemories
from mesa_memory.viz.widgets import Column, Empty, Fact, Note, Section, Table
from mesa_memory.viz.widgets.timeline import number
from mesa_memory.viz.widgets.tree import Tree

#: characters of each that stand in the list; the tree has more
LISTED_CHARS = 240
CONCLUSIONS = (
    Column("since step", number=True),
    Column("kind"),
    Column("layer"),
    Column("about"),
    Column("sources", number=True),
    Column("then"),
    Column("text", wide=True),
)
EVENTS = (
    Column("step", number=True),
    Column("kind"),
    Column("agent"),
    Column("record"),
    Column("text", wide=True),
)


@solara.component
def EvidenceView(source: Source, selection: Selection) -> Any:
    """A list of what the agent concluded until the step; one of them as a tree."""
    agent, step = selection.agent(source), selection.step(source)
    if agent is None or step is None:
        NoMemories()
        return
    past = source.of(memories.past, agent)
    made = data.conclusions(past, step)
    asked = selection.option("record", "")
    chosen = asked if asked in past.by_id else ""
    if not chosen and made:
        chosen = made[0]["id"]
    with solara.Column(gap="0px"):
        if asked and asked != chosen:
            who = source.called(agent)
            Note(f"Agent {who} has no record {asked!r}; choose one from the list.")
        Conclusions(source, selection, chosen, agent, step)
        if chosen:
            Because(source, selection, chosen, agent).key(chosen)


@solara.component
def Conclusions(
    source: Source, selection: Selection, chosen: str, agent: Any, step: float
) -> Any:
    """What the agent made of what it knew, newest first; a click chooses one."""
    past = source.of(memories.past, agent)
    made = data.conclusions(past, step)
    with Section(
        f"What agent {source.called(agent)} concluded",
        hint=f"until step {number(step)}; click one to see its evidence",
    ):
        if not made:
            Nothing(source, selection, agent)
            return
        Table(
            CONCLUSIONS,
            [_conclusion(row, past, step) for row in made],
            file=f"agent-{agent}-conclusions",
            marked=[n for n, row in enumerate(made) if row["id"] == chosen],
            on_pick=lambda n: selection.set_option("record", made[n]["id"]),
            page=5,
        )


@solara.component
def Nothing(source: Source, selection: Selection, agent: Any) -> Any:
    """Says that the agent has concluded nothing yet, and shows who does, and when."""
    text = (
        f"Agent {source.called(agent)} had concluded nothing by then: no summary, "
        "reflection or impression."
    )
    icon = "mdi-lightbulb-off-outline"
    found = source.of(leads.first_conclusion, agent) or source.of(
        leads.first_conclusion
    )
    if found is None:
        more = "No memory of this run makes any; STLTMemory and ImpressionMemory do."
        SeeMemories(selection, f"{text} {more}", icon)
        return
    who, when = found
    Empty(
        f"{text} Go to a later step, or to an agent whose memory makes some.",
        icon,
        button=f"Show agent {source.called(who)} at step {number(when)}",
        on_click=lambda: selection.choose(agent=who, step=when),
    )


@solara.component
def Because(source: Source, selection: Selection, record: str, agent: Any) -> Any:
    """The tree of a record, and the events at its ends as a table."""
    past = source.of(memories.past, agent)
    found = source.of(data.evidence, record)
    changed = interventions.of_records(source.of(interventions.interventions))
    nodes = solara.use_memo(
        lambda: data.nodes(found, past, source.called, changed),
        [id(found), id(past), len(changed)],
    )

    def go(to: data.Row) -> None:
        to_agent(source, selection, to["agent"], to["step"])

    with Section(f"Evidence of {record}"):
        Summary(selection, found, past)
        MadeBy(source, selection, past.by_id.get(record), agent)
        Tree(
            nodes,
            label=f"Evidence of {record}: {len(nodes)} lines",
            on_go=lambda n: go(found.lines[n]),
        )
        if len(found.lines) > len(nodes):
            Note(
                f"Shown are the first {len(nodes):,} of {len(found.lines):,} lines. "
                "Choose a record further down, or use Run.provenance for all.",
                "warning",
            )
    with Section("Raw events", hint="what it all rests on, each once"):
        Table(
            EVENTS,
            [_event(source, row, past) for row in found.events],
            file=f"evidence-{record.replace('/', '-')}",
            on_pick=lambda n: go(found.events[n]),
            empty="No raw event of this run is among its sources.",
        )


@solara.component
def Summary(selection: Selection, found: data.EvidenceTree, past: memories.Past) -> Any:
    """How much evidence there is, and what is wrong with it."""
    row = past.by_id.get(found.record["id"])
    with solara.Div(classes=["mm-row"]):
        for kind, count in found.kinds.items():
            Fact(kind if count == 1 else f"{kind}s", str(count))
        Fact("levels", str(found.depth))
        if found.missing:
            Fact("missing", str(len(found.missing)))
    step = selection.choice.step
    if row and step is not None and row["valid_from"] > step:
        Note(
            f"It was concluded in step {number(row['valid_from'])}, after the step "
            "that is selected."
        )
    if found.missing:
        Note(
            f"{len(found.missing)} of its sources are not in this run. They were "
            "remembered before it was recorded, or the file was changed.",
            "warning",
        )


@solara.component
def MadeBy(
    source: Source, selection: Selection, row: data.Row | None, agent: Any
) -> Any:
    """Who made or changed a record: a request, to which a button leads, or somebody."""
    known = source.of(interventions.interventions)
    if row is None:
        return
    one = interventions.of_records(known).get(row["id"])
    if one is not None:
        Note(f"It was {one.says}, at step {number(one.step)}.", "warning")
    step = next((step for step in source.steps if step >= row["step"]), None)
    if step is None:
        return
    after, by_hand = (
        memories.previous(source.steps, step),
        interventions.made_by_hand(known),
    )
    among = source.of(asked.requests, agent, after, step)
    by = origins.maker(row, among, by_hand)
    if by is None:
        return
    sure = "that made it" if by.certain else "that may have made it: its words differ"
    solara.Button(
        f"See the request {sure}",
        icon_name="mdi-message-text-outline",
        on_click=lambda: to_request(selection, by.request.id, step, agent),
        outlined=True,
        small=True,
    )


def _conclusion(row: data.Row, past: memories.Past, step: float) -> list[Any]:
    return [
        row["valid_from"],
        row["kind"],
        row["layer"],
        row["subject"],
        len(source_ids(row)),
        data.standing(row, step),
        data.text(row, past, LISTED_CHARS),
    ]


def _event(source: Source, row: data.Row, past: memories.Past) -> list[Any]:
    text = data.text(row, past)
    return [row["step"], row["kind"], source.called(row["agent"]), row["id"], text]
