"""Compare: two agents, or two runs, side by side at the same step."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import solara

import mesa_memory.viz.views.cost as cost
import mesa_memory.viz.views.curves as curves
import mesa_memory.viz.widgets as ui
from mesa_memory.runs import Run
from mesa_memory.runs.compare import Difference
from mesa_memory.runs.measured import measured
from mesa_memory.runs.past import Past, Row
from mesa_memory.viz.background import use_work
from mesa_memory.viz.data import agent as agents
from mesa_memory.viz.data import text_diff
from mesa_memory.viz.data.agent import number
from mesa_memory.viz.data.colouring import of_outcome
from mesa_memory.viz.data.frames import plain
from mesa_memory.viz.data.scene import scene
from mesa_memory.viz.selection import nearest
from mesa_memory.viz.serving.live_run import RunState, arms
from mesa_memory.viz.views.agent import Records
from mesa_memory.viz.views.focus import Focus

type Texts = Mapping[str, str | None]
#: values of ``held by``
BOTH, LEFT, RIGHT = "both", "left", "right"
#: longest value of a difference, in characters
VALUE_CHARS = 20_000
#: numbers that every run has: label and unit
SPENT = {
    "calls": ("calls until the step", "calls"),
    "tokens": ("tokens until the step", "tokens"),
    "cost": ("money until the step", "US dollars"),
}
NO_STEP = (
    "The two runs share no finished step. Choose another run, or compare two agents of "
    "this one."
)
#: columns that every row has, or that repeat another one
_REPEATED = ("step", "seq", "agent", "content")


def key(row: Row) -> tuple[str, str]:
    """Kind and text of a record: agents, layers and runs name equal records differently."""
    return row["kind"], row["text"] or ""


def marked(left: list[Row], right: list[Row]) -> list[Row]:
    """The records of two memories, each with ``held by``: those of one side first.

    A text that one side holds twice and the other once is once of one side alone.
    """
    both = Counter(map(key, left)) & Counter(map(key, right))
    of_both: list[Row] = []
    alone: list[Row] = []
    for side, rows in ((LEFT, left), (RIGHT, right)):
        shared = both.copy()
        for row in rows:
            same, shared[key(row)] = shared[key(row)] > 0, shared[key(row)] - 1
            if not same:
                alone.append(row | {"held by": side})
            elif side == LEFT:
                of_both.append(row | {"held by": BOTH})
    return alone + of_both


def course(left: Past, right: Past, steps: list[float]) -> dict[str, list[int]]:
    """At each step the number of records in both memories, and in one of them only."""
    counts: dict[str, list[int]] = {"both": [], "only left": [], "only right": []}
    for step in steps:
        mine, theirs = (Counter(map(key, past.at(step))) for past in (left, right))
        for name, found in zip(counts, (mine & theirs, mine - theirs, theirs - mine)):
            counts[name].append(found.total())
    return counts


def paired(left: Texts, right: Texts) -> dict[str, tuple[str | None, str | None]]:
    """The left and the right text of each place; None on a side without one."""
    names = dict.fromkeys([*left, *right])
    return {name: (left.get(name), right.get(name)) for name in names}


def prompts(rows: list[Row]) -> dict[str, str]:
    """The texts that an agent was shown in a step, by section and in order.

    Args:
        rows: of ``agent.shown``.
    """
    count: Counter[str] = Counter()
    found = {}
    for row in rows:
        name = row["section"] or row["layer"] or "memory"
        count[name] += 1
        found[name if count[name] == 1 else f"{name} ({count[name]})"] = (
            row["text"] or ""
        )
    return found


def told(found: Difference, row: Row | None) -> dict[str, str]:
    """The columns of a side that differ; if one side lacks the row, all columns."""
    return {
        name: str(value)[:VALUE_CHARS]
        for name, value in (row or {}).items()
        if (name in found.fields if found.fields else name not in _REPEATED)
        and (found.fields or value not in (None, [], {}))
    }


#: what else is known by step, and its label
KINDS = {
    "outcome": "{name}",
    "measure": "the study's measure {name}",
    "model": "the model's {name}",
}


def numbers(run: Run) -> dict[str, pd.Series]:
    """Numbers by step; known values only.

    First the agents' outcomes (``outcome:name``: the mean, or the agents with a value),
    then the measures of a study (``measure:name``), the model's variables
    (``model:name``) and ``SPENT``.
    """
    seen, spent = scene(run), cost.spent(run)
    found: dict[str, pd.Series] = {}
    for name in seen.classed:
        by = of_outcome(seen, name)
        for label, values in by.curves():
            group = f"agents with {name} {label}" if by.classes else label
            found[f"outcome:{group}"] = pd.Series(values, seen.steps)
    for name, by_step in measured(run).items():
        if name not in seen.collected:
            known = {step: number(value) for step, value in by_step.items()}
            found[f"measure:{name}"] = pd.Series(known, dtype=float)
    found |= {f"model:{n}": pd.Series(v, seen.steps) for n, v in seen.collected.items()}
    counts = {name: spent.counts[name].sum(axis=0).cumsum() for name in SPENT}
    found |= {name: pd.Series(values, spent.steps) for name, values in counts.items()}
    return {name: values.dropna() for name, values in found.items()}


@solara.component
def CompareView(focus: Focus) -> Any:
    """Two memories: records, prompts, and the step since which they differ."""
    source, selection = focus.source, focus.selection
    other = _other_source(focus)
    right = _right(focus, other)
    with solara.Column(gap="0px"):
        if len(source.all) > 1:
            Together(focus)
        if right is not None:
            Memories(focus, right)
            if other is not source:
                Divergence(focus, other)
            return
        With(focus, other, None)
        another = next((a for a in source.agent_ids if a != focus.agent), None)
        ui.Empty(
            "Choose another agent above. To compare two runs, open both: "
            "mesa-memory dashboard run.sqlite#1 run.sqlite#2",
            "mdi-compare",
            "" if another is None else f"With agent {source.called(another)}",
            lambda: selection.choose(other_agent=str(another)),
        )


def _other_source(focus: Focus) -> RunState:
    """The run to compare with: the chosen one, else another arm's with the same seed.

    Without one it is another run, or else the same.
    """
    own, wanted = focus.source, focus.selection.choice.other_run
    arm = arms(own.feed.all)

    def place(one: RunState) -> tuple[bool, ...]:
        same = arm[one.key] == arm[own.key]
        seeded = one.feed.facts and one.feed.facts.seed == own.feed.facts.seed
        return one.key != wanted, one.run is own.run, same, not seeded

    found = min(own.all, key=place)
    return own if found.run is own.run else found


def _right(focus: Focus, other: RunState) -> Focus | None:
    """The memory to compare with; None without a second one."""
    agent = focus.selection.other_agent(other)
    if other is not focus.source and agent is None:
        same = focus.agent in other.agent_ids
        agent = focus.agent if same else next(iter(other.agent_ids), None)
    right = replace(focus, source=other, agent=agent)
    return None if agent is None or right == focus else right


def With(focus: Focus, other: RunState, right: Any) -> Any:
    """The run and the agent to compare with; None for no agent."""
    runs, selection = focus.source.all, focus.selection
    hint = "agent and step of the left side are chosen at the top"
    with ui.Section("Compare with", hint), solara.Div(classes=["mm-row"]):
        if len(runs) > 1:
            names = {one.key: one.label for one in runs}
            ui.Choose(
                "Run at the right", other.key, names,
                lambda key: selection.choose(other_run=key), wide=True,
            )  # fmt: skip
        ui.AgentPicker(other, selection, right, other=True)


@solara.component
def Memories(left: Focus, right: Focus) -> Any:
    """Both memories at the step, and their difference at all steps."""
    mine, theirs = left.past, right.past
    steps = [step for step in left.source.steps if step in {*right.source.steps}]
    step = nearest(steps, left.step)
    counts = solara.use_memo(
        lambda: course(mine, theirs, steps), [id(mine), id(theirs), len(steps)]
    )
    if step is None:
        With(left, right.source, right.agent)
        ui.Empty(NO_STEP)
        return
    left, right = replace(left, step=step), replace(right, step=step)
    names = [f"Left: agent {left.name}", f"Right: agent {right.name}"]
    if left.source is not right.source:
        sources = left.source, right.source
        names = [f"{name}, {one.short_label}" for name, one in zip(names, sources)]
    Apart(left, right, steps, counts)
    With(left, right.source, right.agent)
    with ui.Section("Records of both", "; ".join(names)):
        Records(
            marked(mine.at(step), theirs.at(step)),
            ["held by", "step", "kind", "text"],
            f"compare-{left.file('records')}",
            empty="Both memories were empty at the end of the step.",
        )
    texts = paired(*(prompts(one.of(agents.shown)) for one in (left, right)))
    hint = f"in step {left.at}; at the right, changes are marked"
    with ui.Section("Shown to the agents", hint):
        if not texts:
            ui.Empty("Neither read its memory in this step.", "mdi-eye-off-outline")
        for title, pair in texts.items():
            Beside(title, pair, names).key(title)


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
        f"At step {focus.at}, {focus.title} (left) and {other.title} (right) share {both} "
        f"records; {left} are only left, {right} only right. They differ {differ}."
    )
    label = "Number of records that both memories have, and only one, by step"
    with ui.Section("Records by step", "the same kind and text is the same record"):
        curves.StepChart(focus, steps, "records", lines, label, "compare", 240)


EVERYTHING = "steps, calls, records, recalls and the texts shown"
SLOW = "Comparing all that was recorded; this takes a minute for long runs …"


@solara.component
def Divergence(focus: Focus, other: RunState) -> Any:
    """The first difference of two runs, which is found in the background."""
    source = focus.source
    both = f"{source.short_label} and {other.short_label}"
    with ui.Section("First difference of runs", both):
        stamp = source.stamp, other.stamp
        parting = use_work(
            lambda: source.run.parting(other.run), other.run, stamp, False, SLOW
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
    go = partial(focus.selection.choose, **changes)
    with solara.Div():
        solara.Button("Go there", go, icon_name="mdi-arrow-right", text=True)
    sides = (told(found, row) for row in (found.left, found.right))
    for title, pair in paired(*sides).items():
        Beside(title, pair, ("left", "right")).key(title)


@solara.component
def Beside(title: str, pair: tuple[str | None, ...], names: Sequence[str]) -> Any:
    """Two texts side by side; the right one with its changes against the left."""
    old, new = pair
    changes = solara.use_memo(
        lambda: None if old is None or new is None else text_diff.changes(old, new),
        [old, new],
    )
    with solara.Div(classes=["mm-columns"]):
        for name, text in zip(names, (old, changes or new)):
            said = "– not here –" if text is None else text
            ui.Texts([ui.TextBlock(f"{title}, {name}", said, sent=True)])


#: digits of a number after the point
DIGITS = 6


@solara.component
def Together(focus: Focus) -> Any:
    """The choice of numbers, and their chart; the numbers are read in the background."""
    runs = [one for one in focus.source.all if one.steps]
    with ui.Section("All runs in one chart", f"{len(runs)} runs"):
        work, stamp = lambda: [one.of(numbers) for one in runs], [r.stamp for r in runs]
        found = use_work(work, len(runs), stamp, False, "Reading all runs …")
        if found is None:
            return
        names = list(dict.fromkeys(name for known in found for name in known))
        choices = {name: _label(name) for name in names}
        chosen = focus.selection.option("together", names[0], names)
        table = pd.concat(
            [known.get(chosen, pd.Series(dtype=float)) for known in found],
            axis=1,
            keys=[one.short_label for one in runs],
            sort=True,
        )
        if len(table):
            named = arms(focus.source.feed.all)
            of_arm = [named[one.key] for one in runs]
            Drawn(focus, table, chosen, choices[chosen], of_arm)
        setter = focus.selection.setter("together")
        ui.Choose("Curves show", chosen, choices, setter, wide=True)


def Drawn(
    focus: Focus, table: pd.DataFrame, key: str, label: str, of_arm: list[str]
) -> Any:
    """A line for each run, or for the mean of each arm if one has several runs.

    Args:
        table: a column for each run, a row for each step.
        key: of the numbers.
        label: their meaning.
        of_arm: for each column, the name of its arm.
    """
    steps, arms = table.index.tolist(), len(set(of_arm))
    counted, lines = f"{len(of_arm)} runs", by_run(table)
    if 1 < arms < len(of_arm):
        lines, table = by_arm(table, of_arm), means(table, of_arm)
        counted, label = f"{arms} arms of {counted}", f"{label}, mean of runs"
    last = nearest(steps, focus.step) or steps[0]
    now = table.loc[last].dropna()
    values = [f"{value:,.4g} in {name}" for name, value in now.items()]
    ui.Answer(f"At step {ui.number(last)}, {label}: {'; '.join(values)}.")
    caption = f"{label[0].upper()}{label[1:]} by step, {counted}"
    curves.StepChart(focus, steps, _unit(key), lines, caption, "runs-together", 320)


def means(table: pd.DataFrame, of_arm: list[str]) -> pd.DataFrame:
    """The mean of the runs of each arm, a column for each, in the order of the runs."""
    return table.T.groupby(np.array(of_arm), sort=False).mean().T


def by_run(table: pd.DataFrame) -> list[dict[str, Any]]:
    """A line for each column."""
    return [
        curves.line(n, str(name), plain(table.iloc[:, n], DIGITS))
        for n, name in enumerate(table)
    ]


def by_arm(table: pd.DataFrame, of_arm: list[str]) -> list[dict[str, Any]]:
    """A line for the mean of each arm, and faint ones of its colour for its runs.

    All lines of an arm have its name, so the legend lists arms, and a click hides one.
    """
    known = list(dict.fromkeys(of_arm))
    found = [line | {"z": 3} for line in by_run(means(table, of_arm))]
    for place, arm in enumerate(of_arm):
        if of_arm.count(arm) > 1:
            values = plain(table.iloc[:, place], DIGITS)
            found.append(curves.faint(known.index(arm), arm, values))
    return found


def _unit(key: str) -> str:
    counted = key.startswith("outcome:agents with ")
    return "agents" if counted else SPENT.get(key, ("", ""))[1]


def _label(key: str) -> str:
    kind, _, name = key.partition(":")
    return SPENT[key][0] if key in SPENT else KINDS[kind].format(name=name)
