"""Spread: the holders of memories that state a text, by step and agent."""

from dataclasses import replace
from typing import Any

import numpy as np
import solara

import mesa_memory.viz.views.curves as curves
import mesa_memory.viz.widgets as ui
from mesa_memory.core.content import brief
from mesa_memory.runs.claims.claim import Verdict, has_words
from mesa_memory.viz.background import use_answer
from mesa_memory.viz.data import spread as data
from mesa_memory.viz.selection import nearest
from mesa_memory.viz.views.empty import NO_MEMORIES, Nothing
from mesa_memory.viz.views.focus import Focus

RULE = (
    "A sentence counts if it has the text's names and numbers and says the same in these "
    "or like words. Denials, questions and sentences about others do not count; denials "
    "have their own curve."
)
#: characters of the text in the answer
QUOTED_CHARS = 120
ASK_FOR_TEXT = (
    "Type a sentence above and press Enter, such as a rumour or a piece of news. "
    "Sentences that state it in these or like words are found in all memories, at all "
    "steps."
)


@solara.component
def SpreadView(focus: Focus) -> Any:
    """A text, and the agents that remember a sentence that states it."""
    text = focus.selection.choice.text.strip()
    with solara.Column(gap="0px"):
        with ui.Section("Text to follow", "a sentence, as an agent might remember it"):
            ui.TextBox(focus.selection)
            if has_words(text):
                ui.Hint(RULE)
            else:
                ui.Empty(ASK_FOR_TEXT, "mdi-map-search-outline")
        if has_words(text):
            Spread(focus, text)


@solara.component
def Spread(focus: Focus, text: str) -> Any:
    """The spread of one text, as soon as all texts are read."""
    says = "Reading all texts of the run; this takes long only the first time …"
    found = use_answer(focus.source, data.found, text, says=says)
    if found is None:
        return
    step = nearest(found.corpus.steps, focus.step)
    if not found.corpus.texts or step is None:
        Nothing(focus.selection, NO_MEMORIES)
        return
    Holding(replace(focus, step=step), found)


@solara.component
def Holding(focus: Focus, found: data.Found) -> Any:
    """The holders, and the sentences that count."""
    held = solara.use_memo(lambda: data.holding(found), [id(found)])
    denied = solara.use_memo(lambda: data.holding(found, Verdict.DENIES), [id(found)])
    rows = solara.use_memo(
        lambda: data.listed(found, focus.step), [id(found), focus.step]
    )
    values = solara.use_memo(
        lambda: held.counts[held.order].astype(np.float32), [id(held)]
    )
    place = held.steps.index(focus.step)
    now, ever = held.holders[place], held.reached[place]
    text = brief(focus.selection.choice.text.strip(), QUOTED_CHARS).rstrip(".")
    ui.Answer(
        f"At step {ui.number(focus.step)}, {now} of {len(held.agents)} agents remember "
        f"“{text}”; {ever} ever did, {ever - now or 'none'} of them forgot it."
    )
    with solara.Div(classes=["mm-columns"]):
        Diffusion(focus, held, denied)
        if held.counts.any():
            Map(focus, held, values)
    Sentences(focus, rows)
    Holders(focus, found)


def Map(focus: Focus, held: data.HoldingCounts, values: np.ndarray) -> Any:
    """The records of each agent at each step, if there is one at all."""
    with ui.Section("Holders by step", "first holders at the top"):
        curves.StepMap(
            focus,
            values,
            [held.agents[place] for place in held.order],
            held.steps,
            meaning="such records held",
            file="spread-map",
        )


@solara.component
def Diffusion(
    focus: Focus, held: data.HoldingCounts, denied: data.HoldingCounts
) -> Any:
    """The number of holders, and of those of a denial, step by step."""
    option = solara.use_memo(lambda: _lines(held, denied), [id(held), id(denied)])
    with ui.Section("Diffusion", "agents that hold such a memory, by step"):
        if not held.counts.any():
            ui.Empty(
                "No sentence states the text. The nearest ones are listed below.",
                "mdi-arrow-down",
            )
            return
        curves.StepChart(
            focus,
            option,
            held.steps,
            label="Number of agents that hold such a memory, and that ever held one, "
            "by step",
            height=260,
            file="spread",
        )


def _lines(held: data.HoldingCounts, denied: data.HoldingCounts) -> dict[str, Any]:
    lines = [
        curves.line(0, "hold it", held.holders, shade=0.25),
        curves.line(1, "ever held it", held.reached),
    ]
    if denied.counts.any():
        lines.append(curves.line(2, "hold a denial", denied.holders))
    return curves.over_steps(held.steps, "agents", lines)


def Holders(focus: Focus, found: data.Found) -> Any:
    """The holders at the step, each with its most similar record."""
    step = ui.number(focus.step)
    names = ("text", "similarity", "since", "kind", "records")
    with ui.Section(
        f"Holders at step {step}",
        "with their most similar record; a click opens the agent",
    ):
        ui.Table(
            {
                "agent": lambda row: focus.source.called(row["agent"]),
                **{name: name for name in names},
            },
            data.holders(found, focus.step),
            page=5,
            file=f"spread-step-{step}",
            on_pick=lambda row: focus.selection.choose(
                agent=row["agent"], view="agent"
            ),
            empty="No agent holds it at this step.",
        )


def Sentences(focus: Focus, rows: list[dict[str, Any]]) -> Any:
    """The different sentences: first the counted ones, then the others with a reason."""
    counted = sum(row["counts"] for row in rows)
    with ui.Section(
        f"Sentences counted: {counted} of {len(rows)}", "# stands for any number"
    ):
        ui.Table(
            {
                "counts": lambda row: "☑" if row["counts"] else "☐",
                "sentence": "text",
                "reason": _reason,
                f"agents at step {ui.number(focus.step)}": "agents",
                "agents ever": "ever",
                "first step": "first",
                "similarity": "similarity",
            },
            rows,
            file="spread-texts",
            page=10,  # so that some of those that do not count are seen, too
        )


def _reason(row: dict[str, Any]) -> str:
    """Why a sentence does not count; empty for one that does."""
    if row["counts"]:
        return ""
    return "less similar" if row["verdict"] == Verdict.STATES else row["verdict"]
