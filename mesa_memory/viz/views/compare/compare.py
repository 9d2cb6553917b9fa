"""Compare: two agents, or two runs, side by side at the same step."""

from dataclasses import replace
from typing import Any

import pandas as pd
import solara

import mesa_memory.viz.views.curves as curves
import mesa_memory.viz.widgets as ui
from mesa_memory.runs.compare import Difference
from mesa_memory.viz.background import use_work
from mesa_memory.viz.data import agent as agents
from mesa_memory.viz.data import compare as data
from mesa_memory.viz.data import wording
from mesa_memory.viz.data.story.frames import plain
from mesa_memory.viz.selection import nearest
from mesa_memory.viz.serving.run_feed import Source
from mesa_memory.viz.views.agent import Records
from mesa_memory.viz.views.focus import Focus


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
            ui.Empty(
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


def With(focus: Focus, other: Source) -> Any:
    """The run and the agent to compare with."""
    runs, selection = focus.source.all, focus.selection
    hint = "agent and step of the left side are chosen at the top"
    with ui.Section("Compare with", hint), solara.Div(classes=["mm-row"]):
        if len(runs) > 1:
            ui.Choose(
                "Run at the right",
                other.key,
                {one.key: one.label for one in runs},
                lambda key: selection.choose(other_run=key),
                wide=True,
            )
        ui.AgentPicker(other, selection, other=True)


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
        ui.Empty(
            "The two runs share no finished step. Choose another run, or "
            "compare two agents of this one."
        )
        return
    left, right = replace(left, step=step), replace(right, step=step)
    same_run = left.source is right.source
    names = [
        f"{side}: agent {one.name}"
        + ("" if same_run else f", {one.source.short_label}")
        for side, one in (("Left", left), ("Right", right))
    ]
    Apart(left, right, steps, counts)
    With(left, right.source)
    have, others = mine.at(step), theirs.at(step)
    rows = data.marked(have, others)
    with ui.Section("Records of both", "; ".join(names)):
        Records(
            rows,
            ["held by", "step", "kind", "text"],
            f"compare-{left.file('records')}",
            marked=lambda row: row["held by"] != data.BOTH,
            mark="only on one side",
            empty="Both memories were empty at the end of the step.",
        )
    pairs = data.prompts(left.of(agents.shown), right.of(agents.shown))
    with ui.Section(
        "Shown to the agents",
        f"in step {ui.number(step)}; at the right, changes are marked",
    ):
        if not pairs:
            ui.Empty("Neither read its memory in this step.", "mdi-eye-off-outline")
        for pair in pairs:
            Beside(pair, *names).key(pair.title)


def Apart(
    focus: Focus, other: Focus, steps: list[float], counts: dict[str, list[int]]
) -> Any:
    """The number of records that both have, and only one, step by step."""
    lines = [curves.line(n, *one) for n, one in enumerate(counts.items())]
    apart = map(any, zip(counts["only left"], counts["only right"]))
    first = next((step for step, differs in zip(steps, apart) if differs), None)
    both, left, right = (values[steps.index(focus.step)] for values in counts.values())
    differ = "never" if first is None else f"from step {ui.number(first)} on"
    ui.Answer(
        f"At step {ui.number(focus.step)}, {focus.title} (left) and {other.title} (right) "
        f"share {both} records; {left} are only left, {right} only right. They differ "
        f"{differ}."
    )
    with ui.Section("Records by step", "the same kind and text is the same record"):
        curves.StepChart(
            focus,
            curves.over_steps(steps, "records", lines),
            steps,
            label="Number of records that both memories have, and only one, by step",
            height=240,
            file="compare",
        )


EVERYTHING = "steps, calls, records, recalls and the texts shown"


@solara.component
def Divergence(focus: Focus, other: Source) -> Any:
    """The first difference of two runs, which is found in the background."""
    source = focus.source
    with ui.Section("First difference of runs", f"{source.label}  and  {other.label}"):
        parting = use_work(
            lambda: source.run.parting(other.run),
            other.run,
            (source.stamp, other.stamp),
            False,
            "Comparing all that was recorded; this takes a minute for long runs …",
        )
        if parting is None:
            return
        if parting.events:
            solara.Text(
                "Their memories are of different classes, so only the events of the "
                "agents are compared, by agent, kind, step and text."
            )
        if parting.first is None:
            compared = "the events of the agents" if parting.events else EVERYTHING
            ui.Empty(f"The runs are equal: {compared}.", "mdi-equal")
        else:
            First(focus, parting.first)


@solara.component
def First(focus: Focus, found: Difference) -> Any:
    """The step, agent and texts of a difference."""
    agent = (found.left or found.right or {}).get("agent")
    ui.Facts(
        {
            "step": ui.number(found.step),
            "table": found.table,
            "agent": "–" if agent is None else agent,
            "fields": ", ".join(found.fields) or "only one run has it",
        }
    )
    changes = {"step": found.step} | ({} if agent is None else {"agent": agent})
    solara.Button(
        "Go there",
        on_click=lambda: focus.selection.choose(**changes),
        icon_name="mdi-arrow-right",
        text=True,
    )
    for pair in data.told(found):
        Beside(pair, "left", "right").key(pair.title)


@solara.component
def Beside(pair: data.Pair, left: str, right: str) -> Any:
    """Two texts side by side; the right one with its changes against the left."""
    old, new = pair.left, pair.right
    changes = solara.use_memo(
        lambda: None if old is None or new is None else wording.changes(old, new),
        [old, new],
    )
    with solara.Div(classes=["mm-columns"]):
        for name, text in ((left, old), (right, changes or new)):
            said = "– not here –" if text is None else text
            ui.Texts([ui.TextBlock(f"{pair.title}, {name}", said, sent=True)])


#: digits of a number after the point
DIGITS = 6


@solara.component
def Together(focus: Focus) -> Any:
    """The choice of numbers, and their chart; the numbers are read in the background."""
    runs = [one for one in focus.source.all if one.steps]
    with ui.Section("All runs in one chart", f"{len(runs)} runs"):
        found = use_work(
            lambda: [one.of(data.numbers) for one in runs],
            len(runs),
            [one.stamp for one in runs],
            False,
            "Reading all runs …",
        )
        if found is None:
            return
        names = list(dict.fromkeys(name for known in found for name in known))
        choices = {name: _label(name) for name in names}
        key = focus.selection.option("together", names[0], names)
        table = pd.concat(
            [known.get(key, pd.Series(dtype=float)) for known in found],
            axis=1,
            keys=[one.short_label for one in runs],
            sort=True,
        )
        if len(table):
            Drawn(focus, table, key, choices[key])
        setter = focus.selection.setter("together")
        ui.Choose("Curves show", key, choices, setter, wide=True)


def Drawn(focus: Focus, table: pd.DataFrame, key: str, label: str) -> Any:
    """A line for each run.

    Args:
        table: a column for each run, a row for each step.
        key: of the numbers.
        label: their meaning.
    """
    steps = table.index.tolist()
    lines = [
        curves.line(n, str(name), plain(table.iloc[:, n], DIGITS))
        for n, name in enumerate(table)
    ]
    last = nearest(steps, focus.step) or steps[0]
    told = [f"{value:,.4g} in {name}" for name, value in table.loc[last].items()]
    ui.Answer(f"At step {ui.number(last)}, {label}: {'; '.join(told)}.")
    curves.StepChart(
        focus,
        curves.over_steps(steps, data.SPENT.get(key, ("", ""))[1], lines),
        steps,
        label=f"{label[0].upper()}{label[1:]} by step, {len(lines)} runs",
        height=320,
        file="runs-together",
    )


def _label(key: str) -> str:
    kind, _, name = key.partition(":")
    if key in data.SPENT:
        return data.SPENT[key][0]
    return data.KINDS[kind].format(name=name)
