"""What came to an agent's mind at a step, and what would have with other weights."""

from typing import Any

import solara

from mesa_memory.core.content import brief
from mesa_memory.core.records import DERIVED
from mesa_memory.viz.data import agent as memories
from mesa_memory.viz.data import leads
from mesa_memory.viz.data import recall as data
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.views.navigation import to_agent, to_evidence
from mesa_memory.viz.views.nothing import NoMemories, SeeMemories
from mesa_memory.viz.views.recall.chart import bars, change
from mesa_memory.viz.views.recall.weights import Weights
from mesa_memory.viz.widgets import (
    Chart,
    Choose,
    Column,
    Empty,
    Fact,
    Note,
    Plain,
    Section,
    Table,
)
from mesa_memory.viz.widgets.timeline import number

#: number of candidates that have a bar
BARS = 25
#: what the table says of whether a reply used a record that was shown
USED = {True: ", used", False: ", not used", None: ""}
PLACE = (
    Column("rank", number=True),
    Column("was", number=True),
    Column("change"),
    Column("prompt"),
    Column("score", number=True),
)
RECORD = (Column("step", number=True), Column("kind"), Column("text", wide=True))


@solara.component
def RecallView(source: Source, selection: Selection) -> Any:
    """The recalls of the agent in the step; one of them in full."""
    agent, step = selection.agent(source), selection.step(source)
    if agent is None or step is None:
        NoMemories()
        return
    rows = source.of(data.recalls, agent, step)
    if not rows:
        Nothing(source, selection, agent, step)
        return
    past = source.of(memories.past, agent)
    places = [str(n) for n in range(1, len(rows) + 1)]
    place = selection.option("recall_number", _usual(rows), places)
    recall = data.understood(rows[int(place) - 1], past)
    with solara.Column(gap="0px"):
        with Section(f"Agent {source.called(agent)} recalled, step {number(step)}"):
            if len(rows) > 1:
                Which(selection, rows, place)
            Asked(recall)
        if recall.candidates:
            Candidates(source, selection, recall, agent)


@solara.component
def Which(selection: Selection, rows: list[data.Row], place: str) -> Any:
    """One of several recalls of a step."""
    names = {
        str(n): f"{n}: {row['purpose']}, {brief(row['query'] or 'no query', 80)}"
        for n, row in enumerate(rows, 1)
    }
    Choose(
        f"One of {len(rows)} recalls",
        place,
        names,
        lambda n: selection.set_option("recall_number", n),
        wide=True,
    )


@solara.component
def Nothing(source: Source, selection: Selection, agent: Any, step: float) -> Any:
    """Says why there is no recall, and where there is one."""
    steps = source.of(data.recall_steps, agent)
    with Section(f"Agent {source.called(agent)} recalled, step {number(step)}"):
        if not steps:
            Never(source, selection, agent)
            return
        to = max((s for s in steps if s < step), default=steps[0])
        Empty(
            f"Agent {source.called(agent)} recalled nothing in this step.",
            "mdi-head-minus-outline",
            button=f"Go to step {number(to)}, where it did",
            on_click=lambda: selection.choose(step=to),
        )


@solara.component
def Never(source: Source, selection: Selection, agent: Any) -> Any:
    """Says that the agent recalls nothing by score, and shows one that does."""
    text = (
        f"Agent {source.called(agent)} never recalled anything by score. Memories that "
        "rank what they know do, such as EpisodicMemory"
    )
    icon, other = "mdi-head-remove-outline", source.of(leads.first_recall)
    if other is None:
        SeeMemories(selection, f"{text}; no agent of this run has one.", icon)
        return
    who, when = other
    Empty(
        f"{text}; choose another agent.",
        icon,
        button=f"Show agent {source.called(who)}, who did",
        on_click=lambda: selection.choose(agent=who, step=when),
    )


@solara.component
def Asked(recall: data.RecordedRecall) -> Any:
    """What the recall was about and how it was scored."""
    count = len(recall.candidates)
    with solara.Div(classes=["mm-row"]):
        Fact("purpose", recall.purpose or "–")
        Fact("layer", recall.layer or "–")
        Fact("came to mind", str(count))
        Fact("dropped by the budget", str(recall.dropped))
        for name in ("decay", "lexical_share", "refresh"):
            if name in recall.scoring:
                Fact(name.replace("_", " "), str(recall.scoring[name]))
    solara.v.Html(tag="h4", children=["Query"])
    if recall.query is None:
        Note("It was asked without a query, so nothing is more relevant than the rest.")
    else:
        Plain(recall.query)
        if recall.scoring.get("note"):
            Note(f"It was ranked {recall.scoring['note']}.")
        if recall.weights[0] == 0:
            Note("Relevance had no weight, so it was not worked out and counts 0.")
    if not count:
        Empty("Nothing came to mind: the memory held nothing that could be ranked.")


@solara.component
def Candidates(
    source: Source, selection: Selection, recall: data.RecordedRecall, agent: Any
) -> Any:
    """Weights to try, and the candidates ranked by them."""
    tried, set_tried = solara.use_state(selection.weights)
    # The address may change, too: by a preset, or by the browser's back button.
    solara.use_effect(lambda: set_tried(selection.weights), [selection.weights])
    ranked = data.ranked(recall, tried)
    moved = sum(one.moved != 0 for one in ranked)
    told = f"{moved} of {len(ranked)} change their rank" if tried else "as it was"
    with Section(
        "What would it have recalled if …",
        hint="what came to mind then is ranked again; parts are weighted, and their sum is "
        "the score",
    ):
        Weights(selection, recall, tried, set_tried)
        solara.v.Html(tag="p", children=[f"Ranking: {told}."])
        Bars(recall, ranked, agent)
        Listed(source, selection, recall, ranked, agent)


@solara.component
def Bars(recall: data.RecordedRecall, ranked: list[data.Ranked], agent: Any) -> Any:
    """The best candidates as bars of weighted parts."""
    option = bars(ranked[:BARS], recall.names)
    if len(ranked) > BARS:
        Note(f"Bars are shown for the first {BARS}; the table has all {len(ranked)}.")
    Chart(
        option,
        label=f"Scores of {min(len(ranked), BARS)} candidates, as bars of their weighted "
        "parts; the table below has the same numbers",
        height=90 + 26 * min(len(ranked), BARS),
        file=f"recall-agent-{agent}-step-{number(recall.step)}",
    )


@solara.component
def Listed(
    source: Source,
    selection: Selection,
    recall: data.RecordedRecall,
    ranked: list[data.Ranked],
    agent: Any,
) -> Any:
    """The same as a table; a click goes to the record."""

    def go(place: int) -> None:
        row = ranked[place].candidate.row
        if row is None:
            return
        if row["origin"] == DERIVED:
            to_evidence(selection, row["id"], agent)
        else:
            to_agent(source, selection, agent, row["valid_from"])

    parts = tuple(Column(name, number=True) for name in recall.names)
    Table(
        (*PLACE, *parts, *RECORD),
        [_cells(one) for one in ranked],
        file=f"recall-agent-{agent}",
        marked=[n for n, one in enumerate(ranked) if not one.candidate.shown],
        on_pick=go,
        page=25,
        sort="rank",
    )


def _usual(rows: list[data.Row]) -> str:
    """The number of the first recall for a prompt, else of the first one."""
    read = (n for n, row in enumerate(rows, 1) if row["purpose"] == "prompt")
    return str(next(read, 1))


def _cells(one: data.Ranked) -> list[Any]:
    candidate, row = one.candidate, one.candidate.row or {}
    return [
        one.rank,
        candidate.rank,
        change(one),
        f"shown{USED[candidate.used]}" if candidate.shown else "dropped",
        round(one.score, 4),
        *(round(part, 4) for part in one.weighted),
        row.get("step"),
        row.get("kind"),
        candidate.text,
    ]
