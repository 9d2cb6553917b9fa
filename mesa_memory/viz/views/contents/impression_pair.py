"""What one agent thought of another one, and the other of it, over time."""

from typing import Any

import solara

import mesa_memory.viz.views.contents.impression_charts as charts
from mesa_memory.viz.data import wording
from mesa_memory.viz.data.contents import impressions as data
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.views.navigation import to_evidence
from mesa_memory.viz.widgets import (
    Chart,
    Choose,
    Column,
    Empty,
    Note,
    Plain,
    Section,
    Table,
)
from mesa_memory.viz.widgets.timeline import number

VERSIONS = (
    Column("sign"),
    Column("sentiment", number=True),
    Column("familiarity", number=True),
    Column("since", number=True),
    Column("until", number=True),
    Column("then"),
    Column("text", wide=True),
)


@solara.component
def Pair(
    source: Source,
    selection: Selection,
    found: data.Opinions,
    chosen: tuple[Any, Any],
    step: float,
) -> Any:
    """What one thought of another over time, and the other way round."""
    observer, subject = chosen
    there, back = found.pair(observer, subject), found.pair(subject, observer)
    who, whom = source.called(observer), source.called(subject)
    names = (f"{who} of {whom}", f"{whom} of {who}")
    option = solara.use_memo(
        lambda: charts.lines(list(zip(names, (there, back))), source.steps),
        [id(found), observer, subject],
    )
    with Section("One pair over time"):
        if not there:
            first = found.all[0]
            Empty(
                f"Agent {who} has no impressions: its memory makes none, or it "
                "has met nobody often enough. Choose another agent above.",
                "mdi-account-question-outline",
                button=f"Show agent {source.called(first.observer)}, who has some",
                on_click=lambda: selection.choose(agent=first.observer),
            )
            return
        Choose(
            f"Agent {who} of agent",
            str(subject),
            {str(one): source.called(one) for one in found.of(observer)},
            lambda key: selection.choose(other_agent=key),
        )
        Current(there, who, whom, step)
        Chart(
            option,
            label=f"Sentiment and familiarity of {who} and {whom} by step",
            cursor=number(step),
            file=f"impressions-{observer}-{subject}",
        )
        History(selection, there)


@solara.component
def Current(there: list[data.HeldOpinion], who: str, whom: str, step: float) -> Any:
    """The words of the impression at the step, and what changed in them."""
    known = [opinion for opinion in there if opinion.since <= step]
    if not known or not known[-1].held(step):
        Note(f"Agent {who} thought nothing of agent {whom} at this step.")
        return
    now = known[-1]
    told = f"Since step {number(now.since)}"
    if len(known) == 1:
        solara.v.Html(tag="h4", children=[f"{told}, the first"])
        Plain(now.text)
        return
    old = known[-2]
    told += f"; marked is what changed since the one of step {number(old.since)}"
    solara.v.Html(tag="h4", children=[told])
    Plain(wording.changes(old.text, now.text))


@solara.component
def History(selection: Selection, there: list[data.HeldOpinion]) -> Any:
    """All versions; a click shows what one rests on."""
    solara.v.Html(tag="h4", children=["Versions; click one to see its evidence"])
    Table(
        VERSIONS,
        [_version(opinion) for opinion in there],
        file="impressions-pair",
        on_pick=lambda n: to_evidence(selection, there[n].id, there[n].observer),
        page=5,
        sort="since",
        down=True,
    )


def _version(opinion: data.HeldOpinion) -> list[Any]:
    return [
        opinion.sign,
        opinion.sentiment,
        opinion.familiarity,
        opinion.since,
        opinion.until,
        opinion.ended or "",
        opinion.text,
    ]
