"""The budget of an agent's prompt, step by step, and the records left out."""

from collections.abc import Sequence
from typing import Any

import solara

import mesa_memory.viz.views.curves as curves
from mesa_memory.viz.data import agent as memories
from mesa_memory.viz.data.requests import budget as data
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.views.navigation import to_evidence
from mesa_memory.viz.views.nothing import NotAtThisStep
from mesa_memory.viz.widgets import Facts, Note, Section, Table, number


@solara.component
def BudgetPage(focus: Focus) -> Any:
    """The use of the budget in each step, and in the chosen one."""
    source, step = focus.source, focus.step
    found = source.of(data.budgets, focus.agent)
    read = [one for one in found if focus.previous < one["step"] <= step]
    now = read[-1] if read else None
    with solara.Column(gap="0px"):
        with Section(
            f"Prompt of agent {focus.name}, step {number(step)}",
            hint="tokens that one section does not need go to the others",
        ):
            if now is None:
                near = [one["step"] for one in found if one["step"] in source.steps]
                NotAtThisStep(
                    focus.selection,
                    "The agent did not read its memory in this step.",
                    "mdi-eye-off-outline",
                    min(near, key=lambda s: abs(s - step), default=None),
                    "where it did",
                )
            else:
                Sections(focus, now)
        if now is not None:
            LeftOut(focus, now)
        Course(focus, found)


@solara.component
def Sections(focus: Focus, now: data.Row) -> Any:
    """The sections of the prompt of the step, with their numbers."""
    left_out = sum(part["lines_left_out"] for part in now["sections"])
    Facts(
        {
            "tokens of budget": f"{now['budget']:,}",
            "tokens used": f"{now['tokens']:,}",
            "share of budget": f"{now['tokens'] / now['budget']:.0%}",
            "lines left out": f"{left_out:,}",
        }
    )
    Table(
        {
            "section": "name",
            "share": lambda part: round(part["share"], 4),
            "tokens of its share": lambda part: round(part["share"] * now["budget"]),
            "tokens": "tokens",
            "lines shown": "lines",
            "lines left out": "lines_left_out",
        },
        now["sections"],
        file=focus.file("sections"),
    )


@solara.component
def LeftOut(focus: Focus, now: data.Row) -> Any:
    """The records beyond the budget; a click shows their evidence."""
    records, parts = focus.past.by_id, now["sections"]
    rows = [
        records[name]
        | {"section": part["name"], "text": memories.text_of(records[name])}
        for part in parts
        for name in part["left_out"]
        if name in records
    ]
    unnamed = sum(part["records_left_out"] for part in parts) - len(rows)
    with Section("Left out", hint="records beyond the budget"):
        if unnamed:
            Note(
                f"{unnamed:,} older records were counted, but not named in the recording."
            )
        Table(
            {
                "section": "section",
                "step": "step",
                "kind": "kind",
                "record": "id",
                "text": "text",
            },
            rows,
            file=focus.file("left-out"),
            on_pick=lambda row: to_evidence(focus.selection, row["id"], focus.agent),
            empty="There was room for all records.",
        )


@solara.component
def Course(focus: Focus, found: Sequence[data.Row]) -> Any:
    """The tokens of each section, step by step, and the budget as a line."""
    source = focus.source
    option = solara.use_memo(
        lambda: _course(found, source.steps), [id(found), source.stamp]
    )
    with Section(
        "Budget over time", hint="tokens of each section; the dashed line is the budget"
    ):
        curves.StepChart(
            focus.selection,
            option,
            source.steps,
            focus.step,
            label="Tokens of the prompt by section in each step, and the budget",
            file=f"agent-{focus.agent}-budget",
        )


def _course(found: Sequence[data.Row], steps: Sequence[float]) -> dict[str, Any]:
    series = [
        curves.bar(n, name, values)
        for n, (name, values) in enumerate(data.series(found, steps).items())
    ]
    option = curves.over_steps(steps, "tokens", series, gap=True)
    limit = max((one["budget"] for one in found), default=0)
    return curves.with_limit(option, limit, 0) if series and limit else option
