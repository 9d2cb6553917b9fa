"""Compare: two agents, or two runs, side by side at the same step."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import solara

import mesa_memory.viz.views.curves as curves
from mesa_memory.viz.data import agent as agents
from mesa_memory.viz.data import compare as data
from mesa_memory.viz.data import wording
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.selection import Selection, nearest
from mesa_memory.viz.views.compare.divergence import Divergence
from mesa_memory.viz.views.compare.together import Together
from mesa_memory.viz.widgets import (
    AgentPicker,
    Chart,
    Choose,
    Column,
    Empty,
    Fact,
    Plain,
    Section,
    Table,
)
from mesa_memory.viz.widgets.timeline import number

_HEADS = [
    Column("held by"),
    Column("step", number=True),
    Column("kind"),
    Column("text", wide=True),
]


@dataclass(frozen=True)
class Side:
    """One of the two memories.

    Attributes:
        source: its run.
        agent: unique id.
        name: how the page calls it.
    """

    source: Source
    agent: Any
    name: str


@solara.component
def CompareView(source: Source, selection: Selection) -> Any:
    """Two memories: records, prompts, and since when they differ."""
    other = other_source(source, selection)
    sides = sides_of(source, other, selection)
    with solara.Column(gap="0px"):
        if len(source.all) > 1:
            Together(source, selection)
        With(source, other, selection)
        if sides is None:
            mine = selection.agent(source)
            another = next((one for one in source.agent_ids if one != mine), None)
            button = "" if another is None else f"With agent {source.called(another)}"
            Empty(
                "Choose another agent above. To compare two runs, open both: "
                "mesa-memory dashboard run.sqlite#1 run.sqlite#2",
                "mdi-compare",
                button=button,
                on_click=lambda: selection.choose(other_agent=str(another)),
            )
            return
        if other is not source:
            Divergence(source, other, selection)
        Memories(source, selection, *sides)


def other_source(source: Source, selection: Selection) -> Source:
    """The run to compare with: the chosen one, else another one, else the same."""
    runs = source.all
    asked = selection.choice.other_run
    for found in runs:
        if asked and found.key == asked:
            return source if found.run is source.run else found
    others = [one for one in runs if one.run is not source.run]
    return others[0] if others else source


def sides_of(
    source: Source, other: Source, selection: Selection
) -> tuple[Side, Side] | None:
    """The two memories; None if there is no second one."""
    agent, theirs = selection.agent(source), selection.other_agent(other)
    if other is not source and theirs is None:
        theirs = (
            agent if agent in other.agent_ids else next(iter(other.agent_ids), None)
        )
    same = other is source and theirs == agent
    if agent is None or theirs is None or same:
        return None
    names = [
        f"Left: agent {source.called(agent)}",
        f"Right: agent {other.called(theirs)}",
    ]
    if other is not source:
        # Labels of runs of two stores may be the same.
        names = [f"{names[0]}, run {source.label}", f"{names[1]}, run {other.label}"]
    return Side(source, agent, names[0]), Side(other, theirs, names[1])


@solara.component
def With(source: Source, other: Source, selection: Selection) -> Any:
    """What to compare with."""
    runs = source.all
    hint = "agent and step of the left side are chosen above"
    with Section("Compare with", hint=hint), solara.Div(classes=["mm-row"]):
        if len(runs) > 1:
            Choose(
                "Run at the right",
                other.key,
                {one.key: one.label for one in runs},
                lambda key: selection.choose(other_run=key),
                wide=True,
            )
        AgentPicker(other, selection, other=True)


@solara.component
def Memories(source: Source, selection: Selection, left: Side, right: Side) -> Any:
    """Both memories at the step, and how far they are apart at all steps."""
    mine = left.source.of(agents.past, left.agent)
    theirs = right.source.of(agents.past, right.agent)
    finished = set(right.source.steps)
    steps = [step for step in left.source.steps if step in finished]
    step = nearest(steps, selection.step(source))
    course = solara.use_memo(
        lambda: data.course(mine, theirs, steps), [id(mine), id(theirs), len(steps)]
    )
    if step is None:
        Empty(
            "The two runs have no finished step in common. Choose another run, or "
            "compare two agents of this one.",
            button="Compare with the same run",
            on_click=lambda: selection.choose(other_run=source.key, other_agent=None),
        )
        return
    Apart(course, selection, step)
    have, others = mine.at(step), theirs.at(step)
    with solara.Div(classes=["mm-columns"]):
        Records(left, data.marked(have, others), step)
        Records(right, data.marked(others, have), step)
    shown = [side.source.of(agents.shown, side.agent, step) for side in (left, right)]
    Prompts(data.prompts(*shown), left.name, right.name, step)


@solara.component
def Apart(course: data.Course, selection: Selection, step: float) -> Any:
    """How many records both have, and only one, step by step."""
    option = solara.use_memo(lambda: _lines(course), [id(course)])
    place = course.steps.index(step)

    with Section(
        f"Step {number(step)}", hint="records with the same kind and text are the same"
    ):
        with solara.Div(classes=["mm-row"]):
            Fact("records in both", str(course.both[place]))
            Fact("only left", str(course.left[place]))
            Fact("only right", str(course.right[place]))
            first = "never" if course.first is None else number(course.first)
            Fact("first step at which they differ", first)
            if course.first is not None and course.first != step:
                solara.Button(
                    f"Go to step {first}",
                    on_click=lambda: selection.choose(step=course.first),
                    icon_name="mdi-skip-backward",
                    text=True,
                )
        Chart(
            option,
            label="Number of records that both memories have, and only one, by step",
            cursor=number(step),
            height=240,
            file="compare",
            on_pick=lambda event: curves.to_step(selection, course.steps, event),
        )


def _lines(course: data.Course) -> dict[str, Any]:
    lines = [
        curves.line(n, name, values)
        for n, (name, values) in enumerate(
            {
                "both": course.both,
                "only left": course.left,
                "only right": course.right,
            }.items()
        )
    ]
    return curves.over_steps(course.steps, "records", lines)


@solara.component
def Records(side: Side, rows: list[dict[str, Any]], step: float) -> Any:
    """All records of a side; those of it alone come first and are marked."""
    alone = [n for n, row in enumerate(rows) if row["held by"] == data.ONLY]
    with Section(
        side.name, hint=f"{len(rows)} records, {len(alone)} of them only here"
    ):
        Table(
            _HEADS,
            agents.cells(rows, [head.label for head in _HEADS]),
            marked=alone,
            mark="only here",
            file=f"run-{side.source.run.id}-agent-{side.agent}-step-{number(step)}",
            empty="This memory was empty at the end of the step.",
        )


@solara.component
def Prompts(pairs: Sequence[data.Pair], left: str, right: str, step: float) -> Any:
    """What the two agents were shown in the step."""
    with Section(
        "Shown to the agents",
        hint=f"in step {number(step)}; at the right, what differs is marked",
    ):
        if not pairs:
            Empty("Neither read its memory in this step.", "mdi-eye-off-outline")
        for pair in pairs:
            Beside(pair, left, right).key(pair.title)


@solara.component
def Beside(pair: data.Pair, left: str, right: str) -> Any:
    """Two texts side by side; the right one with its changes against the left."""
    old, new = pair.left, pair.right
    changes = solara.use_memo(
        lambda: None if old is None or new is None else wording.changes(old, new),
        [old, new],
    )
    solara.v.Html(tag="h4", children=[pair.title])
    with solara.Div(classes=["mm-columns"]):
        for name, text in ((left, old), (right, changes or new)):
            with solara.Div(classes=["mm-prompt"]).key(name):
                solara.v.Html(tag="span", class_="mm-hint", children=[name])
                Plain("There is none here." if text is None else text)
