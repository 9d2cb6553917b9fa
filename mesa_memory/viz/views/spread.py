"""Spread: the holders of memories that state a text, by step and agent."""

from dataclasses import replace
from typing import Any

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
UNSTATED = "No sentence states the text. The nearest ones are listed below."
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
    place = held.steps.index(focus.step)
    now, ever = held.holders[place], held.reached[place]
    text = brief(focus.selection.choice.text.strip(), QUOTED_CHARS).rstrip(".")
    ui.Answer(
        f"At step {focus.at}, {now} of {len(held.agents)} agents remember "
        f"“{text}”; {ever} ever did, {ever - now or 'none'} of them forgot it."
    )
    with solara.Div(classes=["mm-columns"]):
        Diffusion(focus, held, denied)
        if held.counts.any():
            Map(focus, held)
    Sentences(focus, rows)
    Holders(focus, found)


def Map(focus: Focus, held: data.HoldingCounts) -> Any:
    """The records of each agent at each step, if there is one at all."""
    agents, values = [held.agents[n] for n in held.order], held.counts[held.order]
    meaning = "such records held"
    with ui.Section("Holders by step", "first holders at the top"):
        curves.StepMap(focus, values, agents, held.steps, meaning, "spread-map")


def Diffusion(
    focus: Focus, held: data.HoldingCounts, denied: data.HoldingCounts
) -> Any:
    """The number of holders, and of those of a denial, step by step."""
    lines = [
        curves.line(0, "hold it", held.holders, shade=0.25),
        curves.line(1, "ever held it", held.reached),
    ]
    if denied.counts.any():
        lines.append(curves.line(2, "hold a denial", denied.holders))
    label = "Number of agents that hold such a memory, and that ever held one, by step"
    with ui.Section("Diffusion", "agents that hold such a memory, by step"):
        if held.counts.any():
            curves.StepChart(focus, held.steps, "agents", lines, label, "spread", 260)
        else:
            ui.Empty(UNSTATED, "mdi-arrow-down")


def Holders(focus: Focus, found: data.Found) -> Any:
    """The holders at the step, each with its most similar record."""
    hint = "with their most similar record; a click opens the agent"
    choose = focus.selection.choose
    with ui.Section(f"Holders at step {focus.at}", hint):
        ui.Table(
            ui.named("agent text similarity since kind records") | focus.called,
            data.holders(found, focus.step),
            page=5,
            file=f"spread-step-{focus.at}",
            on_pick=lambda row: choose(agent=row["agent"], view="agent"),
            empty="No agent holds it at this step.",
        )


def Sentences(focus: Focus, rows: list[dict[str, Any]]) -> Any:
    """The different sentences: first the counted ones, then the others with a reason."""
    counted = sum(row["counts"] for row in rows)
    columns: dict[str, Any] = {
        "counts": lambda row: "☑" if row["counts"] else "☐",
        "sentence": "text",
        "reason": _reason,
        f"agents at step {focus.at}": "agents",
        "agents ever": "ever",
        "first step": "first",
        "similarity": "similarity",
    }
    title = f"Sentences counted: {counted} of {len(rows)}"
    with ui.Section(title, "# stands for any number"):
        ui.Table(columns, rows, file="spread-texts")


def _reason(row: dict[str, Any]) -> str:
    """Why a sentence does not count; empty for one that does."""
    if row["counts"]:
        return ""
    return "less similar" if row["verdict"] == Verdict.STATES else row["verdict"]
