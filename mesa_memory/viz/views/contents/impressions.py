"""Who thinks what of whom at a step, and how it came to that."""

from collections.abc import Callable
from typing import Any

import solara
import solara.lab

import mesa_memory.viz.views.contents.impression_charts as charts
from mesa_memory.viz.background_count import QUICK
from mesa_memory.viz.data.contents import impressions as data
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.views.contents.impression_pair import Pair
from mesa_memory.viz.views.nothing import SeeMemories
from mesa_memory.viz.widgets import (
    Chart,
    Choose,
    Column,
    Empty,
    Fact,
    Note,
    Section,
    Table,
)
from mesa_memory.viz.widgets.timeline import number

#: more arrows than this show nothing any more
ARROWS = 250
#: of more impressions than this, those of one agent are drawn at first
FEW = 60
#: which arrows are drawn
OWN, ALL = "own", "all"
LEFT_OUT = {
    OWN: "Drawn are the impressions that agent {who} has, and those of it. The matrix "
    "has the other {left}, too.",
    ALL: "Drawn are those of and about agent {who}, and the most familiar. The matrix "
    "has the other {left}, too.",
}
HELD = (
    Column("agent"),
    Column("of"),
    Column("sign"),
    Column("sentiment", number=True),
    Column("familiarity", number=True),
    Column("since", number=True),
    Column("text", wide=True),
)


@solara.component
def ImpressionsView(source: Source, selection: Selection) -> Any:
    """Graph and matrix of the step, and one pair over time."""
    found = use_opinions(source)
    if found is not None:
        Found(source, selection, found)


@solara.component
def Found(source: Source, selection: Selection, found: data.Opinions) -> Any:
    """All of it, as soon as it is read."""
    step = selection.step(source)
    held = [] if step is None else found.at(step)
    if step is None or not found.all:
        SeeMemories(
            selection,
            "Nobody in this run has an impression of anybody. Agents with an "
            "ImpressionMemory make some; they need a few meetings for the first.",
            "mdi-account-question-outline",
        )
        return
    if not held:
        Before(selection, found, step)
        return
    observer = selection.agent(source)
    subject = _subject(selection, found, observer)
    chosen = (observer, subject)

    def pick(opinion: data.HeldOpinion) -> None:
        selection.choose(agent=opinion.observer, other_agent=str(opinion.subject))

    with solara.Column(gap="0px"):
        Sums(held, step)
        with solara.Div(classes=["mm-columns"]):
            Graph(source, selection, found, held, chosen, pick)
            Matrix(source, found, held, chosen, pick)
        Pair(source, selection, found, chosen, step)
        with Section("All impressions", hint=f"at the end of step {number(step)}"):
            Table(
                HELD,
                [_held(opinion, source) for opinion in held],
                file=f"impressions-step-{number(step)}",
                marked=[n for n, o in enumerate(held) if _pair(o) == chosen],
                on_pick=lambda n: pick(held[n]),
            )


@solara.component
def Before(selection: Selection, found: data.Opinions, step: float) -> Any:
    """Says when the first impression comes."""
    later = [opinion.since for opinion in found.all if opinion.since > step]
    first = min(later, default=step)
    Empty(
        f"Nobody had an impression of anybody at the end of step {number(step)}.",
        button=f"Go to step {number(first)}, where the first one is made"
        if later
        else "",
        on_click=lambda: selection.choose(step=first),
    )


@solara.component
def Sums(held: list[data.HeldOpinion], step: float) -> Any:
    """How many impressions of which kind there are, which also explains the signs."""
    counts = dict.fromkeys(charts.DASHES, 0)
    for opinion in held:
        counts[opinion.sign] += 1
    with Section(f"Impressions at step {number(step)}"):
        with solara.Div(classes=["mm-row"]):
            Fact("impressions", str(len(held)))
            Key("+", "friendly", counts["+"], charts.FRIENDLY)
            Key("0", "neither", counts["0"], charts.NEITHER)
            Key("−", "hostile", counts["−"], charts.HOSTILE)
            if counts["?"]:
                Key("?", "not said", counts["?"], charts.NEITHER)
        solara.v.Html(
            tag="span",
            class_="mm-hint",
            children=["A wider arrow: more familiar. A click chooses a pair."],
        )


@solara.component
def Key(sign: str, label: str, count: int, colour: str) -> Any:
    """How an arrow looks, what that means, and how many there are."""
    dash = charts.DASHES[sign]
    line = solara.v.Html(
        tag="span",
        style_="display: inline-block; width: 44px; margin-right: 8px; "
        f"border-top: 4px {dash} {colour}; vertical-align: middle",
    )
    number = solara.v.Html(tag="strong", children=[str(count)])
    name = solara.v.Html(tag="span", children=[line, f"{sign} {label}"])
    return solara.v.Html(tag="div", class_="mm-fact", children=[number, name])


@solara.component
def Graph(
    source: Source,
    selection: Selection,
    found: data.Opinions,
    held: list[data.HeldOpinion],
    chosen: tuple[Any, Any],
    on_pick: Callable[[data.HeldOpinion], None],
) -> Any:
    """Agents, and an arrow for each impression."""
    usual = OWN if len(held) > FEW else ALL
    which = selection.option("impression_arrows", usual, (OWN, ALL))
    places: data.Places = found.places
    if which == OWN:
        drawn = [one for one in held if chosen[0] in _pair(one)]
        places = data.around(drawn, chosen[0], found.people)
    else:
        drawn = data.strongest(held, ARROWS, chosen[0])

    def pick(event: dict[str, Any]) -> None:
        place = event.get("index")
        if not isinstance(place, int) or place < 0:
            return
        if event.get("kind") == "edge" and place < len(drawn):
            on_pick(drawn[place])
        elif event.get("kind") == "node" and place < len(places):
            selection.choose(agent=list(places)[place], other_agent=None)

    who = source.called(chosen[0])
    with Section("Who thinks what of whom", hint=f"square: agent {who}"):
        Arrows(selection, which, usual, who)
        Chart(
            charts.graph(places, drawn, chosen, source.called),
            label=f"Graph of {len(places)} agents and {len(drawn)} impressions; "
            "the table below has all of them",
            height=520,
            file="impressions-graph",
            on_pick=pick,
        )
        if len(drawn) < len(held):
            Note(LEFT_OUT[which].format(who=who, left=len(held) - len(drawn)))


@solara.component
def Arrows(selection: Selection, which: str, usual: str, who: str) -> Any:
    """Which impressions are drawn."""
    names = {OWN: f"of and about agent {who}", ALL: "of all agents"}

    def choose(value: str) -> None:
        option = None if value == usual else value
        selection.set_option("impression_arrows", option)

    with solara.Div(classes=["mm-row"]):
        Choose("Arrows", which, names, choose, wide=True)


@solara.component
def Matrix(
    source: Source,
    found: data.Opinions,
    held: list[data.HeldOpinion],
    chosen: tuple[Any, Any],
    on_pick: Callable[[data.HeldOpinion], None],
) -> Any:
    """A cell for each observer and subject."""

    def pick(event: dict[str, Any]) -> None:
        place = event.get("index")
        if isinstance(place, int) and 0 <= place < len(held):
            on_pick(held[place])

    with Section("Observer by subject", hint="colour and sign: sentiment"):
        Chart(
            charts.matrix(found, held, chosen, source.called),
            label=f"Matrix of sentiments, {len(found.people)} agents of each other",
            height=max(300, min(130 + 18 * len(found.people), 900)),
            file="impressions-matrix",
            on_pick=pick,
        )


def use_opinions(source: Source) -> data.Opinions | None:
    """The opinions of a run; None, and a line that says so, while many are read.

    While those of new steps are read, the ones before are there.
    """
    size = len(source.steps) * len(source.agent_ids)
    last: Any = solara.use_ref(None)
    task = solara.lab.use_task(
        lambda: source.of(data.opinions) if size >= QUICK else None,
        dependencies=[id(source)],
    )
    if task.error:
        raise task.exception  # type: ignore[misc]  # there is one
    if size < QUICK:
        return source.of(data.opinions)
    last.current = (task.value if task.finished else None) or last.current
    if last.current is None:
        solara.ProgressLinear(True)
        solara.Text("Reading all impressions of the run …")
    return last.current


def _subject(selection: Selection, found: data.Opinions, observer: Any) -> Any:
    """Of whom: the chosen one if the observer knows it, else the first."""
    known = found.of(observer)
    asked = selection.choice.other_agent
    return next((s for s in known if str(s) == asked), known[0] if known else None)


def _pair(opinion: data.HeldOpinion) -> tuple[Any, Any]:
    return opinion.observer, opinion.subject


def _held(opinion: data.HeldOpinion, source: Source) -> list[Any]:
    return [
        source.called(opinion.observer),
        source.called(opinion.subject),
        opinion.sign,
        opinion.sentiment,
        opinion.familiarity,
        opinion.since,
        opinion.text,
    ]
