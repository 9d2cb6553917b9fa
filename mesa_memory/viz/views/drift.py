"""Drift: the statements that summaries kept, changed, omitted and added."""

from collections import Counter
from typing import Any

import solara

import mesa_memory.viz.views.curves as curves
import mesa_memory.viz.widgets as ui
from mesa_memory.runs import Run
from mesa_memory.runs.drift import ADDED, CHANGED, KEPT, OMITTED
from mesa_memory.runs.past import Row
from mesa_memory.viz.background import use_answer
from mesa_memory.viz.views.empty import EmptyView
from mesa_memory.viz.views.focus import Focus

FATES = (KEPT, CHANGED, OMITTED)


def drifted(run: Run) -> list[Row]:
    """The rows of ``Run.drift``."""
    return run.drift(as_records=True)


@solara.component
def DriftView(focus: Focus) -> Any:
    """Shares by generation of rewriting, and the statements of one generation."""
    rows = use_answer(focus.source, drifted, says="Comparing summaries and sources …")
    if rows is None:
        return
    if not rows:
        EmptyView(focus, "drift", "No summary of this run names its sources.")
        return
    Drifted(focus, rows)


@solara.component
def Drifted(focus: Focus, rows: list[Row]) -> Any:
    """The bars, and the statements of the chosen generation."""
    counts: dict[int, Counter[str]] = {}
    for row in rows:
        counts.setdefault(row["generation"], Counter())[row["fate"]] += 1
    places = sorted(counts)
    names = list(map(str, places))
    chosen = int(focus.selection.option("generation", names[0], names))
    option = solara.use_memo(lambda: _bars(counts, places), [id(rows)])
    now = counts[chosen]
    with solara.Column(gap="0px"):
        ui.Answer(
            f"In generation {chosen}, summaries kept {now[KEPT]} statements, changed "
            f"{now[CHANGED]}, omitted {now[OMITTED]} and added {now[ADDED]}."
        )
        with ui.Section("Drift", "shares of the sources' statements, by rewriting"):
            ui.Chart(
                option,
                label="Statements kept, changed and omitted, by generation",
                height=260,
                file="drift",
                on_pick=lambda place: focus.selection.set_option(
                    "generation", names[place]
                ),
            )
        Fates(focus, [row for row in rows if row["generation"] == chosen], chosen)


def _bars(counts: dict[int, Counter[str]], places: list[int]) -> dict[str, Any]:
    series = []
    for n, fate in enumerate(FATES):
        sums = [sum(counts[place][each] for each in FATES) for place in places]
        shares = [round(counts[p][fate] / (s or 1), 3) for p, s in zip(places, sums)]
        series.append(curves.bar(n, fate, shares))
    option = curves.over_steps(places, "share", series, gap=True)
    option["xAxis"]["name"] = "Generation of rewriting"
    return option


def Fates(focus: Focus, rows: list[Row], generation: int) -> Any:
    """The statements of a generation, those that were kept last."""
    with ui.Section(
        f"Statements of generation {generation}", "a click opens the evidence"
    ):
        ui.Table(
            {
                "fate": "fate",
                "step": "step",
                "agent": lambda row: focus.source.called(row["agent"]),
                "kind": "kind",
                "statement": "statement",
            },
            sorted(rows, key=lambda row: row["fate"] == KEPT),
            file=f"drift-{generation}",
            on_pick=lambda row: focus.to_evidence(row["record"], row["agent"]),
            page=10,
        )
