"""A recall of an agent at a step, and the ranking with other weights."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import solara

import mesa_memory.viz.views.curves as curves
import mesa_memory.viz.widgets as ui
from mesa_memory.core.content import brief
from mesa_memory.core.records import DERIVED
from mesa_memory.viz.data import recall as data
from mesa_memory.viz.views.empty import EmptyView
from mesa_memory.viz.views.focus import Focus

#: number of candidates that have a bar
BARS = 25
#: characters of the best candidate in the answer
ANSWER_CHARS = 120
#: highest weight of a slider
MAX_WEIGHT = 2.0
#: settings of a score besides its weights
RULES = (
    "decay", "lexical_share", "refresh", "unit", "noise", "threshold", "spacing",
)  # fmt: skip
WEIGHTS = ("Relevance", "Importance", "Recency")
#: by the use of a record in a reply, the end of its cell in the table
USED = {True: ", used", False: ", not used", None: ""}


@solara.component
def RecallView(focus: Focus) -> Any:
    """The recalls of the agent in the step; one of them in full."""
    rows = focus.of(data.recalls)
    if not rows:
        EmptyView(focus, "recall", f"{focus.title} recalled nothing in this step.")
        return
    places = [str(n) for n in range(1, len(rows) + 1)]
    place = focus.selection.option("recall_number", _usual(rows), places)
    recall = data.understood(rows[int(place) - 1], focus.past)
    with solara.Column(gap="0px"):
        ui.Answer(_answer(focus, recall))
        with solara.Div(classes=["mm-columns"]):
            with ui.Section("Best records", "with the reasons, and the query"):
                ui.Texts(list(_asked(recall)))
                for note in _rules(recall):
                    ui.Note(note)
                ui.Facts(_scoring(recall))
                if len(rows) > 1:
                    asked = [brief(row["query"] or "no query", 80) for row in rows]
                    purposes = [row["purpose"] for row in rows]
                    told = map("{}: {}, {}".format, places, purposes, asked)
                    names = dict(zip(places, told))
                    label = f"One of {len(rows)} recalls"
                    choose = focus.selection.setter("recall_number")
                    ui.Choose(label, place, names, choose, wide=True)
            if recall.candidates:
                Candidates(focus, recall)
        if recall.candidates:
            with ui.Section("All candidates", "a click leads to the record"):
                Ranking(focus, recall)


def _answer(focus: Focus, recall: data.RecordedRecall) -> str:
    forgotten = sum(bool(recall.lacking(one.score)) for one in recall.candidates)
    count = len(recall.candidates) - forgotten
    if not count:
        why = (
            "all were below the threshold" if forgotten else "no record could be ranked"
        )
        return f"In step {focus.at}, {focus.title} recalled nothing: {why}."
    left_out = f"; {recall.dropped} had no room in the prompt" if recall.dropped else ""
    first = brief(recall.candidates[0].text, ANSWER_CHARS).rstrip(".")
    if forgotten:
        left_out += f"; {forgotten} were below the threshold"
    records = ui.counted(count, "record")
    told = f"{focus.title} recalled {records}, first “{first}”{left_out}"
    return f"In step {focus.at}, {told}."


def _asked(recall: data.RecordedRecall) -> Iterator[ui.TextBlock]:
    """The first candidates with the reasons, and the query."""
    for one, times in data.best(recall, data.FIRST_CANDIDATES):
        text = f"{one.rank}. {one.text}"
        yield ui.TextBlock(text=text, hint=data.reason(recall, one, times))
    yield ui.TextBlock("Query", recall.query or "")


def _rules(recall: data.RecordedRecall) -> Iterator[str]:
    """Sentences about what the score lacks."""
    if recall.query is None:
        yield "Recalled without a query, so relevance is the same for all records."
        return
    if recall.scoring.get("note"):
        yield f"Ranked {recall.scoring['note']}."
    if recall.weights[0] == 0:
        yield "Relevance had no weight, so it was not computed and counts as 0."


def _scoring(recall: data.RecordedRecall) -> dict[str, Any]:
    known = [name for name in RULES if name in recall.scoring]
    return {
        "purpose": recall.purpose or "–",
        "layer": recall.layer or "–",
        "candidates": len(recall.candidates),
        "dropped by budget": recall.dropped,
        **{name.replace("_", " "): recall.scoring[name] for name in known},
    }


def Candidates(focus: Focus, recall: data.RecordedRecall) -> Any:
    """The candidates ranked by the weights to try."""
    tried = focus.selection.choice.weights
    ranked = data.ranked(recall, tried)
    moved = sum(one.moved != 0 for one in ranked)
    changed = f"{moved} of {len(ranked)} ranks change" if tried else "Original ranking"
    shown = min(len(ranked), BARS)
    hint = "other weights rank the same candidates; the score is the sum of the parts"
    label = f"Scores of {shown} candidates, as bars of their weighted parts; the table "
    label += "below has the same numbers"
    file = f"recall-agent-{focus.agent}-step-{ui.number(recall.step)}"
    with ui.Section("What would it have recalled if …", hint):
        Weights(focus, recall, tried)
        solara.v.Html(tag="p", children=[f"{changed}."])
        drawn = bars(ranked[:BARS], recall.names)
        ui.Chart(drawn, label=label, height=90 + 26 * shown, file=file)
        if len(ranked) > BARS:
            ui.Hint(f"The first {BARS} have bars; the table has all {len(ranked)}.")


def Weights(
    focus: Focus, recall: data.RecordedRecall, tried: tuple[float, ...] | None
) -> Any:
    """A slider for each weight, and a button that takes all changes back."""
    used = recall.weighing(tried)
    choose = focus.selection.choose

    def change_one(place: int, value: float) -> None:
        weights = list(used[: len(WEIGHTS)])
        weights[place] = round(float(value), 3)
        choose(weights=tuple(weights))

    if None in recall.weights[:3]:
        ui.Note("The weights of this recall were not recorded; choose some.", "warning")
    with solara.Div(classes=["mm-row"]):
        for place, label in enumerate(WEIGHTS):
            ui.Slide(
                label=label, value=used[place],
                min=0.0, max=max(MAX_WEIGHT, *used), step=0.05,
                event_change=partial(change_one, place),
            )  # fmt: skip
        small, back = {"text": True, "small": True}, partial(choose, weights=None)
        solara.Button("Reset", back, disabled=tried is None, **small)


def Ranking(focus: Focus, recall: data.RecordedRecall) -> Any:
    """The candidates as a table; a click goes to the record."""
    ranked = data.ranked(recall, focus.selection.choice.weights)

    def go(one: data.Ranked) -> None:
        row = one.candidate.row
        if row is None:
            return
        if row["origin"] == DERIVED:
            focus.to_evidence(row["id"])
        else:
            focus.to_agent(focus.agent, row["valid_from"])

    ui.Table(
        columns(recall, ranked),
        ranked,
        file=f"recall-agent-{focus.agent}",
        marked=lambda one: not one.candidate.shown,
        mark="dropped",
        on_pick=go,
        page=25,
        sort="rank",
    )


def columns(recall: data.RecordedRecall, ranked: list[data.Ranked]) -> dict[str, Any]:
    """The columns of the table; what is the same for all candidates has none."""

    def part(n: int) -> Any:
        return lambda one: round(one.weighted[n], 4)

    parts = {
        name: part(n)
        for n, name in enumerate(recall.names)
        if name in data.USUAL_PARTS or any(one.weighted[n] for one in ranked)
    }
    moves = {"was": lambda one: one.candidate.rank, "change": change}
    # The share of relevance that the talk adds stands last, as it is not weighted.
    talk = {"session": lambda one: round(one.candidate.session, 4)}
    return {
        "rank": "rank",
        **(moves if any(one.moved for one in ranked) else {}),
        "prompt": lambda one: recall.lacking(one.score) or _prompt(one),
        "score": lambda one: round(one.score, 4),
        **parts,
        "step": lambda one: (one.candidate.row or {}).get("step"),
        "kind": lambda one: (one.candidate.row or {}).get("kind"),
        "text": _text,
        **(talk if any(one.candidate.session for one in ranked) else {}),
    }


def _text(one: data.Ranked) -> str:
    """The record, and who else said it."""
    also = one.candidate.also
    return f"{one.candidate.text} ({also})" if also else one.candidate.text


def _prompt(one: data.Ranked) -> str:
    shown = one.candidate.shown
    return f"shown{USED[one.candidate.used]}" if shown else "dropped"


def _usual(rows: list[data.Row]) -> str:
    """The number of the first recall for a prompt, else of the first one."""
    read = (n for n, row in enumerate(rows, 1) if row["purpose"] == "prompt")
    return str(next(read, 1))


#: characters of a candidate that are its name
NAME_CHARS = 56


def bars(
    ranked: list[data.Ranked], names: Sequence[str] = data.PARTS
) -> dict[str, Any]:
    """A bar of weighted parts for each, the best at the top.

    Args:
        ranked: candidates, best first.
        names: of the parts, see ``Recall.names``.
    """
    series = [
        curves.bar(n, names[n], [round(one.weighted[n], 4) for one in ranked])
        for n in range(len(names))
        if any(one.weighted[n] for one in ranked)
    ]
    return {
        "grid": {"left": 8, "right": 32, "top": 32, "bottom": 40, "containLabel": True},
        "tooltip": {"trigger": "axis", "axisPointer": {"type": "shadow"}},
        "legend": {"top": 0, "type": "scroll"},
        "xAxis": {
            "type": "value",
            "name": "score",
            "nameLocation": "middle",
            "nameGap": 26,
            "axisLabel": {"hideOverlap": True},
        },
        "yAxis": {
            "type": "category",
            "inverse": True,
            "data": [_name(one) for one in ranked],
            "axisTick": {"show": False},
        },
        "series": series,
    }


def _name(one: data.Ranked) -> str:
    """Rank, how it changed, whether it was dropped, and how the text begins."""
    dropped = "" if one.candidate.shown else " [dropped]"
    moved = f" {change(one)}" if one.moved else ""
    return f"{one.rank}{moved}{dropped} {brief(one.candidate.text, NAME_CHARS)}"


def change(one: data.Ranked) -> str:
    """By how many places a candidate went up or down."""
    if not one.moved:
        return "="
    return f"▲{one.moved}" if one.moved > 0 else f"▼{-one.moved}"
