"""Spread: the holders of memories like a text, by step and agent."""

from typing import Any

import numpy as np
import solara

import mesa_memory.viz.views.curves as curves
from mesa_memory.viz.background import use_answer
from mesa_memory.viz.data import leads
from mesa_memory.viz.data.spread import groups
from mesa_memory.viz.data.spread import spread as data
from mesa_memory.viz.selection import Selection, nearest
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.views.nothing import NoMemories
from mesa_memory.viz.views.spread.tables import TICKS, Criteria, Holders, Sentences
from mesa_memory.viz.widgets import (
    Chart,
    Choose,
    Empty,
    Fact,
    Heatmap,
    SearchBox,
    Section,
    Slide,
    number,
)

ALL = "all"
NOT_MEANT = (
    "A sentence that is more similar to the second text than to the first does not "
    "count: a denial, for example, has most of the words of the rumour that it denies."
)
#: bars of the histogram of similarities
BINS = 50
ORDERS = {"first": "first holding step", "agent": "agent"}


@solara.component
def SpreadView(focus: Focus) -> Any:
    """A text, and the agents that remember something like it."""
    selection = focus.selection
    text, unlike = selection.text.strip(), selection.option("unlike", "").strip()
    with solara.Column(gap="0px"):
        with Section(
            "Text to follow", hint="a sentence, as an agent might remember it"
        ):
            with solara.Div(classes=["mm-row"]):
                TextBox(selection)
                if text:
                    SearchBox(
                        "But not like this",
                        unlike,
                        lambda value: selection.set_option(
                            "unlike", value.strip() or None
                        ),
                    )
            if text:
                solara.v.Html(tag="span", class_="mm-hint", children=[NOT_MEANT])
            else:
                AskForText(focus)
        if text:
            Spread(focus, text, unlike)


@solara.component
def TextBox(selection: Selection) -> Any:
    """The field for the text that is looked for in all memories."""
    SearchBox(
        "Text in all memories",
        selection.text.strip(),
        lambda value: selection.choose(text=value.strip()),
    )


@solara.component
def AskForText(focus: Focus) -> Any:
    """An explanation, and a button with the words that most agents heard."""
    words = focus.source.of(leads.widest_words)
    Empty(
        "Type a sentence above and press Enter, such as a rumour or a piece of news. "
        "Texts with a like meaning and like words are found in all memories, at all "
        "steps.",
        "mdi-map-search-outline",
        button=f"Look for “{leads.beginning(words)}”" if words else "",
        on_click=lambda: focus.selection.choose(text=words),
    )


@solara.component
def Spread(focus: Focus, text: str, unlike: str) -> Any:
    """The spread of one text."""
    selection = focus.selection
    says = "Reading all texts of the run; this takes long only the first time …"
    answer = use_answer(focus.source, data.compared, text, unlike, says=says)
    found, other = answer or (None, None)
    least, marks = _least(selection), selection.option(TICKS, "")
    chosen = selection.option("spread_kind", ALL)
    kind = chosen if found and chosen in found.corpus.kinds else None
    held = solara.use_memo(
        lambda: found and data.holding(found, least, kind, groups.read(marks)),
        [id(found), least, kind, marks],
    )
    against = solara.use_memo(
        lambda: other and data.holding(other, least, kind), [id(other), least, kind]
    )
    if found is None or held is None:
        return
    step = nearest(found.corpus.steps, focus.step)
    if not found.corpus.texts or step is None:
        NoMemories()
        return
    at = Focus(focus.source, selection, focus.agent, step)
    criteria = Criteria(least, kind, marks)
    Limits(found, selection, criteria)
    Diffusion(at, held, against)
    with solara.Div(classes=["mm-columns"]):
        HoldersMap(at, held)
        Holders(at, found, criteria)
    Sentences(focus, found, criteria)


def _least(selection: Selection) -> float:
    """The chosen similarity, two digits, within 0 and 1."""
    try:
        value = float(selection.option("spread_least", f"{data.MIN_SIMILARITY}"))
    except ValueError:
        return data.MIN_SIMILARITY
    return round(value, 2) if 0 <= value <= 1 else data.MIN_SIMILARITY


@solara.component
def Limits(found: data.Found, selection: Selection, criteria: Criteria) -> Any:
    """The similarity from which on a sentence counts, and the kind of record."""
    kinds = {ALL: "all kinds"} | {name: name for name in sorted(found.corpus.kinds)}
    option = solara.use_memo(lambda: _bars(found), [id(found)])

    def choose_least(value: float) -> None:
        selection.set_option("spread_least", f"{value:.2f}")

    def pick(event: dict[str, Any]) -> None:
        index = event.get("index")
        if isinstance(index, int) and 0 <= index < BINS:
            choose_least(index / BINS)

    with Section(
        "Sentences that count",
        hint="half the similarity is the meaning, half the words in common",
    ):
        Chart(
            option,
            label="Number of different sentences by their similarity; those to the right "
            "of the line count",
            cursor=_bin(criteria.least),
            height=180,
            file="spread-similarity",
            on_pick=pick,
        )
        with solara.Div(classes=["mm-row"]):
            Slide(
                label="Least similarity", value=criteria.least,
                min=0.0, max=1.0, step=0.01, event_change=choose_least,
            )  # fmt: skip
            setter = selection.setter("spread_kind")
            Choose("Kind of record", criteria.kind or ALL, kinds, setter)


def _bars(found: data.Found) -> dict[str, Any]:
    """Different sentences by their similarity; the axis is cut, as most have little."""
    counts = data.histogram(found, BINS)
    bars = curves.bar(0, "different sentences", counts)
    names = [_bin(n / BINS) for n in range(BINS)]
    option = curves.along(names, "similarity", "sentences", [bars], True)
    option["yAxis"] = {"type": "log", "name": "sentences", "min": 0.5}
    return option


def _bin(similarity: float) -> str:
    """The name of the bar in which a similarity is."""
    return f"{min(BINS - 1, int(similarity * BINS + 1e-9)) / BINS:.2f}"


@solara.component
def Diffusion(
    focus: Focus, held: data.HoldingCounts, against: data.HoldingCounts | None
) -> Any:
    """The number of holders, and of those of the other text, step by step."""
    selection = focus.selection
    option = solara.use_memo(lambda: _lines(held, against), [id(held), id(against)])
    total, place = len(held.agents), held.steps.index(focus.step)
    now, ever = held.holders[place], held.reached[place]
    with Section("Diffusion", hint="agents that hold such a memory, by step"):
        with solara.Div(classes=["mm-row"]):
            Fact("holders at this step", f"{now} of {total} ({now / total:.0%})")
            Fact("holders so far", f"{ever}")
            Fact("agents that forgot it", f"{ever - now}")
        if not held.counts.any():
            Empty(
                "No text is similar enough. Move the slider to the left; the nearest "
                "texts are listed below.",
                "mdi-arrow-collapse-left",
                button="Halve the least similarity",
                on_click=lambda: selection.set_option(
                    "spread_least", f"{_least(selection) / 2:.2f}"
                ),
            )
            return
        curves.StepChart(
            selection,
            option,
            held.steps,
            focus.step,
            label="Number of agents that hold such a memory, and that ever held one, "
            "by step",
            height=260,
            file="spread",
        )


def _lines(
    held: data.HoldingCounts, against: data.HoldingCounts | None
) -> dict[str, Any]:
    lines = [
        curves.line(0, "hold it", held.holders, shade=0.25),
        curves.line(1, "ever held it", held.reached),
    ]
    if against:
        lines.append(curves.line(2, "hold the other text", against.holders))
    return curves.over_steps(held.steps, "agents", lines)


@solara.component
def HoldersMap(focus: Focus, held: data.HoldingCounts) -> Any:
    """A cell for each agent and step."""
    source, selection = focus.source, focus.selection
    order = selection.option("spread_order", "first", ORDERS)
    everyone = range(len(held.agents))
    places = held.order if order == "first" else list(everyone)
    values = solara.use_memo(
        lambda: held.counts[places].astype(np.float32), [id(held), order]
    )
    agents = [held.agents[place] for place in places]

    def pick(row: int, column: int) -> None:
        selection.choose(agent=agents[row], step=held.steps[column])

    with Section("Holders by step", hint="number of such records of each agent"):
        Choose("Rows by", order, ORDERS, selection.setter("spread_order"))
        Heatmap(
            values,
            [source.called(agent) for agent in agents],
            [number(step) for step in held.steps],
            row=agents.index(focus.agent) if focus.agent in agents else -1,
            column=held.steps.index(focus.step),
            on_pick=pick,
            label=f"Heat map: such records held, {len(agents)} agents by "
            f"{len(held.steps)} steps",
            file="spread-map",
        )
