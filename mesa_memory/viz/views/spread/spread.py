"""Spread: the holders of memories like a text, by step and agent."""

from dataclasses import replace
from typing import Any

import numpy as np
import solara

import mesa_memory.viz.views.curves as curves
from mesa_memory.core.content import brief
from mesa_memory.viz.background import use_answer
from mesa_memory.viz.data import leads
from mesa_memory.viz.data.spread import spread as data
from mesa_memory.viz.selection import Selection, nearest
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.views.nothing import NoMemories
from mesa_memory.viz.widgets import (
    Choose,
    Empty,
    Facts,
    SearchBox,
    Section,
    Slide,
    Table,
    number,
)

ALL = "all"
#: characters of a text in the name of a button
BUTTON_CHARS = 60
#: the options of the address that have the least similarity and the ticks
LEAST, TICKS = "spread_least", "spread_ticks"
SIMILARITIES = [f"{n / 100:g}" for n in range(101)]
NOT_MEANT = (
    "A sentence that is more similar to the second text than to the first does not "
    "count: a denial, for example, has most of the words of the rumour that it denies."
)


@solara.component
def SpreadView(focus: Focus) -> Any:
    """A text, and the agents that remember something like it."""
    selection = focus.selection
    text, unlike = selection.choice.text.strip(), selection.option("unlike", "").strip()
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
        selection.choice.text.strip(),
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
        button=f"Look for “{brief(words, BUTTON_CHARS)}”" if words else "",
        on_click=lambda: focus.selection.choose(text=words),
    )


@solara.component
def Spread(focus: Focus, text: str, unlike: str) -> Any:
    """The spread of one text, as soon as all texts are read."""
    says = "Reading all texts of the run; this takes long only the first time …"
    answer = use_answer(focus.source, data.compared, text, unlike, says=says)
    if answer is None:
        return
    step = nearest(answer[0].corpus.steps, focus.step)
    if not answer[0].corpus.texts or step is None:
        NoMemories()
        return
    Holding(replace(focus, step=step), *answer)


@solara.component
def Holding(focus: Focus, found: data.Found, other: data.Found | None) -> Any:
    """The holders, and the sentences that count."""
    selection = focus.selection
    kinds = [ALL, *sorted(set(found.corpus.lives["kind"]))]
    kind = selection.option("spread_kind", ALL, kinds)
    criteria = data.Criteria(
        float(selection.option(LEAST, f"{data.MIN_SIMILARITY}", SIMILARITIES)),
        None if kind == ALL else kind,
        selection.option(TICKS, ""),
    )
    held = solara.use_memo(lambda: data.holding(found, criteria), [id(found), criteria])
    against = solara.use_memo(
        lambda: other and data.holding(other, replace(criteria, marks="")),
        [id(other), criteria],
    )
    values = solara.use_memo(
        lambda: held.counts[held.order].astype(np.float32), [id(held)]
    )
    with (
        Section(
            "Sentences that count",
            hint="half the similarity is the meaning, half the words in common",
        ),
        solara.Div(classes=["mm-row"]),
    ):
        Slide(
            label="Least similarity", value=criteria.least, min=0.0, max=1.0, step=0.01,
            event_change=lambda value: selection.set_option(LEAST, f"{round(value, 2):g}"),
        )  # fmt: skip
        choices = {name: name for name in kinds} | {ALL: "all kinds"}
        Choose("Kind of record", kind, choices, selection.setter("spread_kind"))
    Diffusion(focus, held, against, criteria.least)
    with solara.Div(classes=["mm-columns"]):
        with Section("Holders by step", hint="first holders at the top"):
            curves.StepMap(
                focus,
                values,
                [held.agents[place] for place in held.order],
                held.steps,
                meaning="such records held",
                file="spread-map",
            )
        Holders(focus, found, criteria)
    Sentences(focus, found, criteria)


@solara.component
def Diffusion(
    focus: Focus,
    held: data.HoldingCounts,
    against: data.HoldingCounts | None,
    least: float,
) -> Any:
    """The number of holders, and of those of the other text, step by step."""
    selection = focus.selection
    option = solara.use_memo(lambda: _lines(held, against), [id(held), id(against)])
    total, place = len(held.agents), held.steps.index(focus.step)
    now, ever = held.holders[place], held.reached[place]
    with Section("Diffusion", hint="agents that hold such a memory, by step"):
        Facts(
            {
                "holders at this step": f"{now} of {total} ({now / total:.0%})",
                "holders so far": ever,
                "agents that forgot it": ever - now,
            }
        )
        if not held.counts.any():
            half = f"{round(least / 2, 2):g}"
            Empty(
                "No text is similar enough. Move the slider to the left; the nearest "
                "texts are listed below.",
                "mdi-arrow-collapse-left",
                button="Halve the least similarity",
                on_click=lambda: selection.set_option(LEAST, half),
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
def Holders(focus: Focus, found: data.Found, criteria: data.Criteria) -> Any:
    """The holders at the step, each with its most similar record."""
    step = number(focus.step)
    names = ("text", "similarity", "since", "kind", "records")
    with Section(
        f"Holders at step {step}",
        hint="with their most similar record; a click opens the agent",
    ):
        Table(
            {
                "agent": lambda row: focus.source.called(row["agent"]),
                **{name: name for name in names},
            },
            data.holders(found, focus.step, criteria),
            page=5,
            file=f"spread-step-{step}",
            on_pick=lambda row: focus.selection.choose(
                agent=row["agent"], view="agent"
            ),
            empty="No agent holds it at this step.",
        )


@solara.component
def Sentences(focus: Focus, found: data.Found, criteria: data.Criteria) -> Any:
    """The nearest sentences, with boxes to tick."""
    rows = solara.use_memo(lambda: data.nearest(found, criteria), [id(found), criteria])

    def turn(row: dict[str, Any]) -> None:
        changed = {key: on for key, on in criteria.ticks.items() if key != row["key"]}
        if (row["similarity"] >= criteria.least) == row["counts"]:
            changed[row["key"]] = not row["counts"]
        focus.selection.set_option(TICKS, data.written(changed) or None)

    with Section(
        "Nearest sentences",
        hint="of all speakers and steps; a click lets one count, or not",
    ):
        if criteria.marks:
            solara.Button(
                "Remove all ticks",
                icon_name="mdi-undo",
                on_click=lambda: focus.selection.set_option(TICKS, None),
                text=True,
            )
        Table(
            {
                "counts": lambda row: "☑" if row["counts"] else "☐",
                "similarity": "similarity",
                "text": "text",
                "agents": "agents",
                "first step": "first",
            },
            rows,
            marked=lambda row: row["counts"],
            mark="counts",
            file="spread-texts",
            on_pick=turn,
        )
