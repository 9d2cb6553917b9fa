"""The budget of an agent's prompt, step by step, and what it left out."""

from collections.abc import Sequence
from typing import Any

import solara

import mesa_memory.viz.views.curves as curves
from mesa_memory.viz.data import agent as memories
from mesa_memory.viz.data.requests import budget as data
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.views.navigation import to_evidence
from mesa_memory.viz.widgets import Chart, Column, Empty, Fact, Note, Section, Table
from mesa_memory.viz.widgets.timeline import number

SECTIONS = (
    Column("section"),
    Column("share", number=True),
    Column("tokens of its share", number=True),
    Column("tokens", number=True),
    Column("lines shown", number=True),
    Column("lines left out", number=True),
)
DROPPED = (
    Column("section"),
    Column("step", number=True),
    Column("kind"),
    Column("record"),
    Column("text", wide=True),
)


@solara.component
def BudgetPage(source: Source, selection: Selection, agent: Any, step: float) -> Any:
    """How the budget was used in each step, and in the chosen one."""
    found = source.of(data.budgets, agent)
    now = data.last_at(found, memories.previous(source.steps, step), step)
    with solara.Column(gap="0px"):
        if now is None:
            near = [one.step for one in found if one.step in source.steps]
            to = min(near, key=lambda s: abs(s - step), default=None)
            with Section(
                f"Prompt of agent {source.called(agent)}, step {number(step)}"
            ):
                Empty(
                    "The agent did not read its memory in this step.",
                    "mdi-eye-off-outline",
                    "" if to is None else f"Go to step {number(to)}, where it did",
                    lambda: selection.choose(step=to),
                )
        else:
            Now(source, now, agent, step)
            LeftOut(source, selection, now, agent, step)
        Course(source, selection, found, agent, step)


@solara.component
def Now(source: Source, now: data.PromptBudget, agent: Any, step: float) -> Any:
    """The prompt of the step: a bar of its sections, and their numbers."""
    option = solara.use_memo(lambda: _bar(now), [now])
    with Section(
        f"Prompt of agent {source.called(agent)}, step {number(step)}",
        hint="what one section does not need goes to the others",
    ):
        with solara.Div(classes=["mm-row"]):
            Fact("budget, tokens", f"{now.most:,}")
            Fact("used", f"{now.tokens:,}")
            Fact("of the budget", f"{now.tokens / now.most:.0%}" if now.most else "–")
            Fact("lines left out", f"{now.left_out:,}")
        Chart(
            option,
            label=f"Tokens of {len(now.sections)} sections and what is free of the budget, "
            "as one bar; the table below has the same numbers",
            height=150,
            file=f"agent-{agent}-step-{number(step)}-budget",
        )
        Table(
            SECTIONS,
            [
                [
                    one.name,
                    round(one.share, 4),
                    round(one.share * now.most),
                    one.tokens,
                    one.lines,
                    one.left_out,
                ]
                for one in now.sections
            ],
            file=f"agent-{agent}-step-{number(step)}-sections",
        )


@solara.component
def LeftOut(
    source: Source,
    selection: Selection,
    now: data.PromptBudget,
    agent: Any,
    step: float,
) -> Any:
    """The records for which there was no room; a click shows their evidence."""
    past = source.of(memories.past, agent)
    found = data.dropped(now, past)
    unnamed = sum(one.unnamed for one in now.sections)
    with Section("Left out", hint="records for which there was no room"):
        if unnamed:
            Note(f"{unnamed:,} older ones were counted, and not named in the record.")
        Table(
            DROPPED,
            [_dropped(*one) for one in found],
            file=f"agent-{agent}-step-{number(step)}-left-out",
            on_pick=lambda n: to_evidence(selection, found[n][1], agent),
            empty="Everything had room.",
        )


@solara.component
def Course(
    source: Source,
    selection: Selection,
    found: Sequence[data.PromptBudget],
    agent: Any,
    step: float,
) -> Any:
    """The tokens of each section, step by step, and the budget as a line."""
    option = solara.use_memo(
        lambda: _course(found, source.steps), [id(found), source.stamp]
    )
    with Section(
        "Step by step", hint="tokens of each section; the dashed line is the budget"
    ):
        Chart(
            option,
            label="Tokens of the prompt by section in each step, and the budget",
            cursor=number(step),
            file=f"agent-{agent}-budget",
            on_pick=lambda event: curves.to_step(selection, source.steps, event),
        )


def _bar(now: data.PromptBudget) -> dict[str, Any]:
    parts = [
        curves.bar(n, one.name, [one.tokens]) for n, one in enumerate(now.sections)
    ]
    free = max(0, now.most - sum(one.tokens for one in now.sections))
    rest = curves.bar(len(parts), "free", [free]) | {"color": "#BBBBBB"}
    return curves.lying([""], "tokens", [*parts, rest])


def _course(
    found: Sequence[data.PromptBudget], steps: Sequence[float]
) -> dict[str, Any]:
    series = [
        curves.bar(n, name, values)
        for n, (name, values) in enumerate(data.series(found, steps).items())
    ]
    option = curves.over_steps(steps, "tokens", series, gap=True)
    most = max((one.most for one in found), default=0)
    if series and most:
        series[0]["markLine"] = {
            "symbol": "none",
            "data": [{"yAxis": most, "name": "budget"}],
            "label": {"formatter": "budget", "position": "insideEndTop"},
            "lineStyle": {"color": "#D55E00", "type": "dashed", "width": 2},
        }
        option["yAxis"]["max"] = round(1.05 * most)
    return option


def _dropped(section: str, record: str, row: data.Row | None) -> list[Any]:
    known = row or {}
    text = memories.text_of(row) if row else "not in this run"
    return [section, known.get("step"), known.get("kind"), record, text]
