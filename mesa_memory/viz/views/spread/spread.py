"""Spread: who remembers something like a text, and how that went through the agents."""

from typing import Any

import numpy as np
import solara

import mesa_memory.viz.views.curves as curves
from mesa_memory.viz.background_query import use_answer
from mesa_memory.viz.data import leads
from mesa_memory.viz.data.spread import groups
from mesa_memory.viz.data.spread import spread as data
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.selection import Selection, nearest
from mesa_memory.viz.views.nothing import NoMemories
from mesa_memory.viz.views.spread.tables import TICKS, Holders, Texts, What
from mesa_memory.viz.widgets import (
    Chart,
    Choose,
    Empty,
    Fact,
    Heatmap,
    SearchBox,
    Section,
)
from mesa_memory.viz.widgets.timeline import number

#: agents times steps of a run whose texts are read at once
QUICK = 1_000
ALL = "all"
NOT_MEANT = (
    "What is more similar to the second text than to the first one does not count: a "
    "denial, for example, has most of the words of the rumour that it denies."
)
#: bars of the histogram of similarities
BINS = 50
ORDERS = {"first": "who held it first", "agent": "agent"}


@solara.component
def SpreadView(source: Source, selection: Selection) -> Any:
    """A text, and who remembers something like it."""
    text = selection.text.strip()
    with solara.Column(gap="0px"):
        with Section("What spreads?", hint="a sentence, as an agent might remember it"):
            with solara.Div(classes=["mm-row"]):
                SearchBox(
                    "Text to look for in all memories",
                    text,
                    lambda value: selection.choose(text=value.strip()),
                )
                if text:
                    SearchBox(
                        "But not like this",
                        selection.option("unlike", "").strip(),
                        lambda value: selection.set_option(
                            "unlike", value.strip() or None
                        ),
                    )
            if text:
                solara.v.Html(tag="span", class_="mm-hint", children=[NOT_MEANT])
            if not text:
                words = source.of(leads.widest_words)
                Empty(
                    "Type a sentence above and press Enter, such as a rumour or a piece "
                    "of news. Texts that are like it in meaning and words are found in "
                    "all memories, at all steps.",
                    "mdi-map-search-outline",
                    button=f"Look for “{leads.beginning(words)}”" if words else "",
                    on_click=lambda: selection.choose(text=words),
                )
        if text:
            Spread(source, selection, text)


@solara.component
def Spread(source: Source, selection: Selection, text: str) -> Any:
    """All about one text."""
    quick = len(source.steps) * len(source.agent_ids) < QUICK
    says = "Reading all texts of the run; this takes long only the first time …"
    unlike = selection.option("unlike", "").strip()
    answer = use_answer(source, data.compared, text, unlike, quick=quick, says=says)
    found, other = answer or (None, None)
    least = _least(selection)
    chosen = selection.option("spread_kind", ALL)
    kind = chosen if found and chosen in found.corpus.kinds else None
    marks = selection.option(TICKS, "")
    ticks = groups.read(marks)
    held = solara.use_memo(
        lambda: found and data.holding(found, least, kind, ticks),
        [id(found), least, kind, marks],
    )
    against = solara.use_memo(
        lambda: other and data.holding(other, least, kind),
        [id(other), least, kind],
    )
    if found is None or held is None:
        return
    step = nearest(found.corpus.steps, selection.step(source))
    if not found.corpus.texts or step is None:
        NoMemories()
        return
    Chosen(found, selection, least, kind)
    Curve(held, against, selection, step)
    with solara.Div(classes=["mm-columns"]):
        Strip(source, selection, held, step)
        Holders(source, found, selection, What(least, kind, marks), step)
    Texts(source, found, selection, What(least, kind, marks))


def _least(selection: Selection) -> float:
    """The chosen similarity, two digits, within 0 and 1."""
    try:
        value = float(selection.option("spread_least", f"{data.MIN_SIMILARITY}"))
    except ValueError:
        return data.MIN_SIMILARITY
    return round(value, 2) if 0 <= value <= 1 else data.MIN_SIMILARITY


@solara.component
def Chosen(
    found: data.Found, selection: Selection, least: float, kind: str | None
) -> Any:
    """What counts: similarity and kind."""
    moving = solara.use_reactive(least)
    solara.use_effect(lambda: moving.set(least), [least])
    kinds = {ALL: "all kinds"} | {name: name for name in sorted(found.corpus.kinds)}
    option = solara.use_memo(lambda: _bars(found), [id(found)])
    with Section(
        "What counts",
        hint="half the similarity is the meaning, half the words in common",
    ):
        Chart(
            option,
            label="Number of different sentences by their similarity; those to the right "
            "of the line count",
            cursor=_bin(moving.value),
            height=180,
            file="spread-similarity",
            on_pick=lambda event: _choose_bin(selection, event.get("index")),
        )
        Least(found, selection, moving, kind, kinds)


@solara.component
def Least(
    found: data.Found,
    selection: Selection,
    moving: solara.Reactive[float],
    kind: str | None,
    kinds: dict[str, str],
) -> Any:
    """The line that is dragged, and the kind of record."""
    with solara.Div(classes=["mm-row"]):
        slider = solara.v.Slider(
            label=f"Least similarity {moving.value:.2f}",
            v_model=moving.value,
            on_v_model=moving.set,
            min=0,
            max=1,
            step=0.01,
            hide_details=True,
            class_="mm-field-wide mm-keys",
        )
        solara.v.use_event(
            slider,
            "change",
            lambda *event: _choose_least(selection, event[-1], moving.value),
        )
        Choose(
            "Kind of record",
            kind or ALL,
            kinds,
            lambda value: selection.set_option(
                "spread_kind", None if value == ALL else value
            ),
        )


def _bars(found: data.Found) -> dict[str, Any]:
    """Different sentences by their similarity; the axis is cut, as most have little."""
    counts = data.histogram(found, BINS)
    bars = curves.bar(0, "different sentences", counts)
    option = curves.along(
        [_bin(n / BINS) for n in range(BINS)], "similarity", "sentences", [bars], True
    )
    option["yAxis"] = {"type": "log", "name": "sentences", "min": 0.5}
    return option


def _bin(similarity: float) -> str:
    """The name of the bar in which a similarity is."""
    return f"{min(BINS - 1, int(similarity * BINS + 1e-9)) / BINS:.2f}"


def _choose_bin(selection: Selection, index: Any) -> None:
    if isinstance(index, int) and 0 <= index < BINS:
        selection.set_option("spread_least", f"{index / BINS:.2f}")


def _choose_least(selection: Selection, given: Any, shown: float) -> None:
    value = given if isinstance(given, int | float) else shown
    selection.set_option("spread_least", f"{value:.2f}")


@solara.component
def Curve(
    held: data.HoldingCounts,
    against: data.HoldingCounts | None,
    selection: Selection,
    step: float,
) -> Any:
    """How many agents held it, and what is not meant, step by step."""
    option = solara.use_memo(lambda: _lines(held, against), [id(held), id(against)])
    total, place = len(held.agents), held.steps.index(step)
    now, ever = held.holders[place], held.reached[place]

    with Section("Diffusion", hint="agents that hold such a memory, by step"):
        with solara.Div(classes=["mm-row"]):
            Fact(f"of {total} hold it at step {number(step)}", f"{now}")
            Fact("of all agents", f"{now / total:.0%}")
            Fact("held it until then", f"{ever}")
            Fact("have lost it since", f"{ever - now}")
        if not held.counts.any():
            Empty(
                "No text is similar enough. Move the slider to the left; the texts "
                "that are nearest are listed below.",
                "mdi-arrow-collapse-left",
                button="Halve the similarity that counts",
                on_click=lambda: selection.set_option(
                    "spread_least", f"{_least(selection) / 2:.2f}"
                ),
            )
            return
        Chart(
            option,
            label="Number of agents that hold such a memory, and that ever held one, "
            "by step",
            cursor=number(step),
            height=260,
            file="spread",
            on_pick=lambda event: curves.to_step(selection, held.steps, event),
        )


def _lines(
    held: data.HoldingCounts, against: data.HoldingCounts | None
) -> dict[str, Any]:
    lines = [
        curves.line(0, "hold it", held.holders, shade=0.25),
        curves.line(1, "ever held it", held.reached),
    ]
    if against:
        lines.append(curves.line(2, "hold what is not meant", against.holders))
    return curves.over_steps(held.steps, "agents", lines)


@solara.component
def Strip(
    source: Source, selection: Selection, held: data.HoldingCounts, step: float
) -> Any:
    """A cell for each agent and step."""
    order = selection.option("spread_order", "first", ORDERS)
    places, values = solara.use_memo(lambda: _rows(held, order), [id(held), order])
    agents = [held.agents[place] for place in places]
    agent = selection.agent(source)

    def pick(row: int, column: int) -> None:
        selection.choose(agent=agents[row], step=held.steps[column])

    with Section("Who holds it when", hint="how many such records each agent holds"):
        Choose(
            "Rows by",
            order,
            ORDERS,
            lambda value: selection.set_option("spread_order", value),
        )
        Heatmap(
            values,
            [source.called(agent) for agent in agents],
            [number(step) for step in held.steps],
            row=agents.index(agent) if agent in agents else -1,
            column=held.steps.index(step),
            on_pick=pick,
            label=f"Heat map: such records held, {len(agents)} agents by "
            f"{len(held.steps)} steps",
            file="spread-map",
        )


def _rows(held: data.HoldingCounts, order: str) -> tuple[list[int], np.ndarray]:
    places = held.order if order == "first" else list(range(len(held.agents)))
    return places, held.counts[places].astype(np.float32)
