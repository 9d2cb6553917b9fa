"""Compare: two agents, or two runs, side by side at the same step."""

from dataclasses import replace
from typing import Any

import solara

import mesa_memory.viz.views.curves as curves
from mesa_memory.viz.data import agent as agents
from mesa_memory.viz.data import compare as data
from mesa_memory.viz.selection import nearest
from mesa_memory.viz.serving.run_feed import Source
from mesa_memory.viz.views.agent import Records
from mesa_memory.viz.views.compare.divergence import Beside, Divergence
from mesa_memory.viz.views.compare.together import Together
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.widgets import AgentPicker, Answer, Choose, Empty, Section, number


@solara.component
def CompareView(focus: Focus) -> Any:
    """Two memories: records, prompts, and the step since which they differ."""
    source, selection = focus.source, focus.selection
    other = _other_source(focus)
    right = _right(focus, other)
    with solara.Column(gap="0px"):
        if len(source.all) > 1:
            Together(focus)
        if right is None:
            With(focus, other)
            another = next((a for a in source.agent_ids if a != focus.agent), None)
            Empty(
                "Choose another agent above. To compare two runs, open both: "
                "mesa-memory dashboard run.sqlite#1 run.sqlite#2",
                "mdi-compare",
                button=""
                if another is None
                else f"With agent {source.called(another)}",
                on_click=lambda: selection.choose(other_agent=str(another)),
            )
            return
        Memories(focus, right)
        if other is not source:
            Divergence(focus, other)


def _other_source(focus: Focus) -> Source:
    """The run to compare with: the chosen one, else another one, else the same."""
    own, runs = focus.source, focus.source.all
    wanted = focus.selection.choice.other_run
    others = [one for one in runs if one.run is not own.run]
    for found in runs:
        if wanted and found.key == wanted:
            return own if found.run is own.run else found
    return others[0] if others else own


def _right(focus: Focus, other: Source) -> Focus | None:
    """The memory to compare with; None without a second one."""
    agent = focus.selection.other_agent(other)
    if other is not focus.source and agent is None:
        same = focus.agent in other.agent_ids
        agent = focus.agent if same else next(iter(other.agent_ids), None)
    right = replace(focus, source=other, agent=agent)
    return None if agent is None or right == focus else right


@solara.component
def With(focus: Focus, other: Source) -> Any:
    """The run and the agent to compare with."""
    runs, selection = focus.source.all, focus.selection
    hint = "agent and step of the left side are chosen at the top"
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
def Memories(left: Focus, right: Focus) -> Any:
    """Both memories at the step, and their difference at all steps."""
    mine, theirs = left.past, right.past
    finished = set(right.source.steps)
    steps = [step for step in left.source.steps if step in finished]
    step = nearest(steps, left.step)
    counts = solara.use_memo(
        lambda: data.course(mine, theirs, steps), [id(mine), id(theirs), len(steps)]
    )
    if step is None:
        With(left, right.source)
        Empty(
            "The two runs share no finished step. Choose another run, or "
            "compare two agents of this one."
        )
        return
    left, right = replace(left, step=step), replace(right, step=step)
    same_run = left.source is right.source
    names = [
        f"{side}: agent {one.name}" + ("" if same_run else f", run {one.source.label}")
        for side, one in (("Left", left), ("Right", right))
    ]
    Apart(left, right, steps, counts)
    With(left, right.source)
    have, others = mine.at(step), theirs.at(step)
    rows = data.marked(have, others)
    with Section("Records of both", hint="; ".join(names)):
        Records(
            rows,
            ["held by", "step", "kind", "text"],
            f"compare-{left.file('records')}",
            marked=lambda row: row["held by"] != data.BOTH,
            mark="only on one side",
            empty="Both memories were empty at the end of the step.",
        )
    pairs = data.prompts(left.of(agents.shown), right.of(agents.shown))
    with Section(
        "Shown to the agents",
        hint=f"in step {number(step)}; at the right, changes are marked",
    ):
        if not pairs:
            Empty("Neither read its memory in this step.", "mdi-eye-off-outline")
        for pair in pairs:
            Beside(pair, *names).key(pair.title)


@solara.component
def Apart(
    focus: Focus, other: Focus, steps: list[float], counts: dict[str, list[int]]
) -> Any:
    """The number of records that both have, and only one, step by step."""
    lines = [curves.line(n, *one) for n, one in enumerate(counts.items())]
    apart = map(any, zip(counts["only left"], counts["only right"]))
    first = next((step for step, differs in zip(steps, apart) if differs), None)
    both, left, right = (values[steps.index(focus.step)] for values in counts.values())
    differ = "never" if first is None else f"from step {number(first)} on"
    Answer(
        f"At step {number(focus.step)}, {focus.title} (left) and {other.title} (right) "
        f"share {both} records; {left} are only left, {right} only right. They differ "
        f"{differ}."
    )
    with Section("Records by step", hint="the same kind and text is the same record"):
        curves.StepChart(
            focus.selection,
            curves.over_steps(steps, "records", lines),
            steps,
            focus.step,
            label="Number of records that both memories have, and only one, by step",
            height=240,
            file="compare",
        )
