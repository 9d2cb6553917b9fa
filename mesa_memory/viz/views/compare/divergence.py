"""The first difference of two runs."""

from typing import Any

import solara

from mesa_memory.runs.compare import Difference
from mesa_memory.viz.background import use_work
from mesa_memory.viz.data import compare as data
from mesa_memory.viz.data import wording
from mesa_memory.viz.serving.run_feed import Source
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.widgets import Empty, Facts, Plain, Section, number

EVERYTHING = "steps, calls, records, recalls and the texts shown"


@solara.component
def Divergence(focus: Focus, other: Source) -> Any:
    """The first difference of two runs, which is found in the background."""
    source = focus.source
    with Section(
        "First difference of runs", hint=f"{source.label}  and  {other.label}"
    ):
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
            Empty(f"The runs are equal: {compared}.", "mdi-equal")
        else:
            First(focus, parting.first)


@solara.component
def First(focus: Focus, found: Difference) -> Any:
    """The step, agent and texts of a difference."""
    agent = (found.left or found.right or {}).get("agent")
    Facts(
        {
            "step": number(found.step),
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
    solara.v.Html(tag="h4", children=[pair.title])
    with solara.Div(classes=["mm-columns"]):
        for name, text in ((left, old), (right, changes or new)):
            with solara.Div(classes=["mm-prompt"]).key(name):
                solara.v.Html(tag="span", class_="mm-hint", children=[name])
                Plain("– not here –" if text is None else text)
