"""A recall of an agent at a step, and the ranking with other weights."""

from functools import partial
from typing import Any

import solara

from mesa_memory.core.content import brief
from mesa_memory.core.records import DERIVED
from mesa_memory.viz.data import leads
from mesa_memory.viz.data import recall as data
from mesa_memory.viz.data.reading import steps_of
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.views.navigation import to_agent, to_evidence
from mesa_memory.viz.views.nothing import NotAtThisStep, OtherAgent
from mesa_memory.viz.views.recall.chart import bars, change
from mesa_memory.viz.widgets import (
    Chart,
    Choose,
    Empty,
    Facts,
    Note,
    Plain,
    Section,
    Slide,
    Table,
    number,
)

#: number of candidates that have a bar
BARS = 25
#: highest weight of a slider
MAX_WEIGHT = 2.0
WEIGHTS = ("Relevance", "Importance", "Recency")
PRESETS = {
    "As it was": None,
    "Relevance only": (1.0, 0.0, 0.0),
    "All the same": (1.0, 1.0, 1.0),
}
#: by the use of a record in a reply, the end of its cell in the table
USED = {True: ", used", False: ", not used", None: ""}


@solara.component
def RecallView(focus: Focus) -> Any:
    """The recalls of the agent in the step; one of them in full."""
    rows = focus.of(data.recalls)
    title = f"Agent {focus.name} recalled, step {number(focus.step)}"
    if not rows:
        with Section(title):
            NoRecall(focus)
        return
    places = [str(n) for n in range(1, len(rows) + 1)]
    place = focus.selection.option("recall_number", _usual(rows), places)
    recall = data.understood(rows[int(place) - 1], focus.past)
    with solara.Column(gap="0px"):
        with Section(title):
            if len(rows) > 1:
                names = {
                    str(n): f"{n}: {row['purpose']}, "
                    f"{brief(row['query'] or 'no query', 80)}"
                    for n, row in enumerate(rows, 1)
                }
                choose = focus.selection.setter("recall_number")
                Choose(f"One of {len(rows)} recalls", place, names, choose, wide=True)
            Asked(recall)
        if recall.candidates:
            Candidates(focus, recall)


@solara.component
def NoRecall(focus: Focus) -> Any:
    """The reason for no recall, and the way to one."""
    source, selection = focus.source, focus.selection
    steps = source.of(steps_of, "recalls", focus.agent)
    icon = "mdi-head-remove-outline"
    if steps:
        to = max((s for s in steps if s < focus.step), default=steps[0])
        text = f"Agent {focus.name} recalled nothing in this step."
        NotAtThisStep(selection, text, icon, to, "where it did")
        return
    OtherAgent(
        focus,
        f"Agent {focus.name} never recalled anything by score. Memories that rank "
        "their records do, such as EpisodicMemory.",
        icon,
        source.of(leads.first_recall),
        "No agent of this run has one.",
    )


@solara.component
def Asked(recall: data.RecordedRecall) -> Any:
    """The query of the recall, and the rules of its score."""
    count = len(recall.candidates)
    rules = ("decay", "lexical_share", "refresh")
    known = {name.replace("_", " "): name for name in rules if name in recall.scoring}
    Facts(
        {
            "purpose": recall.purpose or "–",
            "layer": recall.layer or "–",
            "candidates": count,
            "dropped by budget": recall.dropped,
            **{label: recall.scoring[name] for label, name in known.items()},
        }
    )
    solara.v.Html(tag="h4", children=["Query"])
    if recall.query is None:
        Note("Recalled without a query, so relevance is the same for all records.")
    else:
        Plain(recall.query)
        if recall.scoring.get("note"):
            Note(f"Ranked {recall.scoring['note']}.")
        if recall.weights[0] == 0:
            Note("Relevance had no weight, so it was not computed and counts as 0.")
    if not count:
        Empty("Nothing was recalled: the memory held no record that could be ranked.")


@solara.component
def Candidates(focus: Focus, recall: data.RecordedRecall) -> Any:
    """Weights to try, and the candidates ranked by them."""
    tried = focus.selection.choice.weights
    ranked = data.ranked(recall, tried)
    moved = sum(one.moved != 0 for one in ranked)
    changed = f"{moved} of {len(ranked)} change their rank" if tried else "as it was"
    with Section(
        "Recall with other weights",
        hint="ranks the same candidates; the score is the sum of the weighted parts",
    ):
        Weights(focus, recall, tried)
        solara.v.Html(tag="p", children=[f"Ranking: {changed}."])
        shown = min(len(ranked), BARS)
        if len(ranked) > BARS:
            Note(f"The first {BARS} have bars; the table has all {len(ranked)}.")
        Chart(
            bars(ranked[:BARS], recall.names),
            label=f"Scores of {shown} candidates, as bars of their weighted parts; the "
            "table below has the same numbers",
            height=90 + 26 * shown,
            file=f"recall-agent-{focus.agent}-step-{number(recall.step)}",
        )
        Ranking(focus, recall, ranked)


@solara.component
def Weights(
    focus: Focus, recall: data.RecordedRecall, tried: tuple[float, ...] | None
) -> Any:
    """A slider for each weight, and buttons for usual ones."""
    used = recall.weighing(tried)
    choose = focus.selection.choose

    def change_one(place: int, value: float) -> None:
        weights = list(used[: len(WEIGHTS)])
        weights[place] = round(float(value), 3)
        choose(weights=tuple(weights))

    if None in recall.weights[:3]:
        Note("The weights of this recall were not recorded; choose some.", "warning")
    with solara.Div(classes=["mm-row"]):
        for place, label in enumerate(WEIGHTS):
            Slide(
                label=label, value=used[place],
                min=0.0, max=max(MAX_WEIGHT, *used), step=0.05,
                event_change=partial(change_one, place),
            )  # fmt: skip
        for label, weights in PRESETS.items():
            solara.Button(
                label,
                text=True,
                small=True,
                disabled=tried == weights,
                on_click=lambda weights=weights: choose(weights=weights),
            )


@solara.component
def Ranking(
    focus: Focus, recall: data.RecordedRecall, ranked: list[data.Ranked]
) -> Any:
    """The candidates as a table; a click goes to the record."""

    def go(one: data.Ranked) -> None:
        row = one.candidate.row
        if row is None:
            return
        if row["origin"] == DERIVED:
            to_evidence(focus.selection, row["id"], focus.agent)
        else:
            to_agent(focus.source, focus.selection, focus.agent, row["valid_from"])

    def part(n: int) -> Any:
        return lambda one: round(one.weighted[n], 4)

    # Parts that count only now and then have a column if one is not 0.
    parts = {
        name: part(n)
        for n, name in enumerate(recall.names)
        if name not in data.RARE_PARTS or any(one.weighted[n] for one in ranked)
    }
    # The share of relevance that the talk adds stands last, as it is not weighted.
    talk = {"session": lambda one: round(one.candidate.session, 4)}

    Table(
        {
            "rank": lambda one: one.rank,
            "was": lambda one: one.candidate.rank,
            "change": change,
            "prompt": _prompt,
            "score": lambda one: round(one.score, 4),
            **parts,
            "step": lambda one: (one.candidate.row or {}).get("step"),
            "kind": lambda one: (one.candidate.row or {}).get("kind"),
            "text": lambda one: one.candidate.text,
            **(talk if any(one.candidate.session for one in ranked) else {}),
        },
        ranked,
        file=f"recall-agent-{focus.agent}",
        marked=lambda one: not one.candidate.shown,
        mark="dropped",
        on_pick=go,
        page=25,
        sort="rank",
    )


def _prompt(one: data.Ranked) -> str:
    shown = one.candidate.shown
    return f"shown{USED[one.candidate.used]}" if shown else "dropped"


def _usual(rows: list[data.Row]) -> str:
    """The number of the first recall for a prompt, else of the first one."""
    read = (n for n, row in enumerate(rows, 1) if row["purpose"] == "prompt")
    return str(next(read, 1))
