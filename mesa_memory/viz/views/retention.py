"""Retention and drift: statements that agents are still shown, and that summaries keep."""

from collections import Counter
from typing import Any

import solara

import mesa_memory.viz.views.curves as curves
import mesa_memory.viz.widgets as ui
from mesa_memory.experiments.measures.retention import RetentionResult, retention
from mesa_memory.runs import Run
from mesa_memory.runs.drift import ADDED, CHANGED, KEPT, OMITTED
from mesa_memory.runs.past import Row
from mesa_memory.viz.background import use_answer
from mesa_memory.viz.data.frames import plain
from mesa_memory.viz.views.empty import Nothing
from mesa_memory.viz.views.focus import Focus

#: retention intervals, in steps
INTERVALS = (1, 2, 5, 10, 20, 40)
#: fates of the statements that summaries rest on
FATES = (KEPT, CHANGED, OMITTED)
#: steps of a run that are looked at, about
LOOKS = 10


def retained(run: Run) -> RetentionResult:
    """The retention of a run, from about ``LOOKS`` of its steps."""
    every = max(1, len(run.steps) // LOOKS)
    return retention(run, intervals=INTERVALS, every=every)


@solara.component
def RetentionView(focus: Focus) -> Any:
    """A curve for each memory; a click on a point lists its statements."""
    says = "Looking for statements in what agents read …"
    found = use_answer(focus.source, retained, says=says)
    if found is None:
        return
    if found.curve.empty:
        Nothing(focus.selection, "No agent read its memory after a message.")
        return
    curve = found.curve
    intervals = sorted(curve["interval"].unique().tolist())
    chosen = focus.selection.option(
        "interval", str(intervals[0]), list(map(str, intervals))
    )
    now = curve[curve["interval"] == int(chosen)]
    shares = [
        f"{row.kept:.0%} of {row.old} with {row.memory}"
        for row in now[now["old"] > 0].itertuples()
    ]
    with solara.Column(gap="0px"):
        ui.Answer(
            f"Of statements heard {ui.counted(int(chosen), 'step')} ago, agents were shown "
            f"{' and '.join(shares) or 'none'}."
        )
        with ui.Section("Retention", "share shown, by steps since it was heard"):
            ui.Chart(
                _lines(found, intervals),
                label="Share of statements shown, by memory and retention interval",
                height=280,
                file="retention",
                on_pick=lambda place: focus.selection.set_option(
                    "interval", str(intervals[place])
                ),
            )
        Statements(focus, found, int(chosen))


def _lines(found: RetentionResult, intervals: list[int]) -> dict[str, Any]:
    """One line for each memory, and one for its false alarms if there are any."""
    lines: list[dict[str, Any]] = []
    for memory, own in found.curve.groupby("memory", sort=True):
        by = own.set_index("interval").reindex(intervals)
        for name, column in ((memory, "kept"), (f"{memory}, false alarms", "false")):
            if column == "kept" or by[column].fillna(0).any():
                values = by[column]
                lines.append(curves.line(len(lines), str(name), plain(values)))
    option = curves.over_steps(intervals, "share shown", lines)
    option["xAxis"]["name"] = "Retention interval in steps"
    option["yAxis"] |= {"min": 0, "max": 1}
    return option


def Statements(focus: Focus, found: RetentionResult, interval: int) -> Any:
    """The old statements of an interval, those that were lost first."""
    rows = found.statements
    rows = rows[(rows["interval"] == interval) & rows["old"]]
    known = {str(agent): agent for agent in focus.source.agent_ids}
    place = {agent: n for n, agent in enumerate(known)}
    told = sorted(
        rows.to_dict("records"),
        key=lambda row: (row["shown"], row["step"], place[row["agent"]]),
    )
    columns: dict[str, Any] = {
        "shown": lambda row: "kept" if row["shown"] else "lost",
        "step": "step",
        "agent": lambda row: focus.source.called(known[row["agent"]]),
        "memory": "memory",
        "statement": "text",
    }
    hint = "a click on a point of the curve chooses the interval"
    with ui.Section(f"Statements heard {ui.counted(interval, 'step')} before", hint):
        ui.Table(
            columns,
            told,
            file=f"retention-{interval}",
            on_pick=lambda row: focus.to_agent(known[row["agent"]], row["step"]),
            empty="No agent heard a statement that long before.",
        )


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
        Nothing(focus.selection, "No summary of this run names its sources.")
        return
    counts: dict[int, Counter[str]] = {}
    for row in rows:
        counts.setdefault(row["generation"], Counter())[row["fate"]] += 1
    places = sorted(counts)
    names = list(map(str, places))
    chosen = int(focus.selection.option("generation", names[0], names))
    now = counts[chosen]
    with solara.Column(gap="0px"):
        ui.Answer(
            f"In generation {chosen}, summaries kept {now[KEPT]} statements, changed "
            f"{now[CHANGED]}, omitted {now[OMITTED]} and added {now[ADDED]}."
        )
        with ui.Section("Drift", "shares of the sources' statements, by rewriting"):
            ui.Chart(
                _bars(counts, places),
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
    title, hint = f"Statements of generation {generation}", "a click opens the evidence"
    with ui.Section(title, hint):
        ui.Table(
            ui.named("fate step agent kind statement") | focus.called,
            sorted(rows, key=lambda row: row["fate"] == KEPT),
            file=f"drift-{generation}",
            on_pick=lambda row: focus.to_evidence(row["record"], row["agent"]),
        )
