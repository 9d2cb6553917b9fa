"""The same towns with different memories, many times over: table and picture."""

import os
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mesa_memory import Study
from mesa_memory.errors import StudyError
from mesa_memory.examples.rumor import MEMORIES
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.runs.spreadsheet import write_csv

#: colour (Okabe and Ito: told apart by colour-blind readers, too) and dashes
STYLES: dict[str, tuple[str, Any]] = {
    "short_term": ("#D55E00", "--"),
    "stlt": ("#0072B2", "-"),
    "long_term": ("#009E73", (0, (7, 1.5, 1.5, 1.5))),
    "episodic": ("#CC79A7", (0, (4, 1.5))),
    "impression": ("#E69F00", "-."),
    "layered": ("#000000", (0, (2, 1))),
    "none": ("#555555", ":"),
}
#: of other memories, in order and again from the first
OTHER_STYLES: tuple[tuple[str, Any], ...] = (
    ("#000000", "-"), ("#56B4E9", "-"), ("#000000", "--"), ("#56B4E9", "--"),
)  # fmt: skip
PANELS = {
    "knows_rumour": "Know the rumour",
    "believes_correction": "Believe the correction",
}


def run(
    memories: Sequence[str] = MEMORIES,
    seeds: int = 10,
    steps: int = 40,
    n_agents: int = 30,
    correction_step: int = 10,
    llm: str = "offline",
    api_base: str | None = None,
    processes: int | None = None,
    progress: bool = True,
    store: str | Path | None = None,
) -> pd.DataFrame:
    """Runs each memory with the seeds 0, 1, …: equal seeds are equal towns.

    Args:
        memories: names, see ``memory`` of ``RumorModel``.
        n_agents, correction_step, llm, api_base: see ``RumorModel``.
        processes: how many at once; None for one per processor.
        progress: show a bar.
        store: where the runs are recorded as a study, which goes on with what is
            missing; None keeps only the table.

    Returns:
        One row for each run and step, the same whatever ``processes`` is.
    """
    factors = {
        "memory": list(memories),
        "n_agents": n_agents,
        "correction_step": correction_step,
        "llm": llm,
        "api_base": api_base,
    }
    workers = min(processes or os.cpu_count() or 1, seeds * len(memories))
    with TemporaryDirectory(prefix="mesa-memory-") as folder:
        study = Study(
            RumorModel,
            factors,
            seeds=range(seeds),
            steps=steps,
            store=store or Path(folder) / "study.sqlite",
            record=store is not None,
        )
        status = study.run("serial" if workers == 1 else workers, progress=progress)
        if status.failed:
            raise StudyError(str(status))
        frame = study.results().steps
    frame["cost"] = pd.to_numeric(frame["cost"])  # unknown, None, becomes NaN
    return frame.drop(columns=["api_base", "replicate"])


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Means over the seeds at the last step, one row for each memory, in order."""
    last = frame[frame["step"] == frame["step"].max()]
    counted = last.loc[:, ["memory", *last.loc[:, "knows_rumour":]]]
    # skipna=False: a mean with an unknown cost in it is unknown
    return counted.groupby("memory", sort=False).agg(lambda c: c.mean(skipna=False))


def write(frame: pd.DataFrame, folder: Path) -> tuple[Path, Path]:
    """Writes ``rumor.csv`` and ``rumor.png`` into a folder, made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    table, picture = folder / "rumor.csv", folder / "rumor.png"
    write_csv(frame, table)
    with matplotlib.rc_context({"font.size": 10, "axes.titleweight": "bold"}):
        plot(frame).savefig(picture, dpi=160)
    return table, picture


def plot(frame: pd.DataFrame) -> Figure:
    """Two panels over time, one line for each memory: mean and standard deviation."""
    figure = Figure(figsize=(9.5, 4.4), layout="constrained")
    panels = figure.subplots(1, len(PANELS), sharey=True)
    styles = _styles(list(frame["memory"].unique()))
    for axes, (column, title) in zip(panels, PANELS.items()):
        for memory, style in styles.items():
            _line(axes, frame[frame["memory"] == memory], column, memory, style)
        _furnish(axes, frame, title)
    panels[0].set(ylabel="Share of the town (%)", ylim=(-2, 102))
    lines, names = panels[0].get_legend_handles_labels()
    figure.legend(
        lines,
        names,
        loc="outside lower center",
        ncols=len(names),
        frameon=False,
        handlelength=3.5,
    )
    return figure


def _furnish(axes: Axes, frame: pd.DataFrame, title: str) -> None:
    towns, last = frame["seed"].nunique(), frame["step"].max()
    axes.set(title=title, xlim=(0, last), xlabel=f"Step (mean ± s.d. of {towns} runs)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25, linewidth=0.6)
    comes = frame["correction_step"].iloc[0]
    if comes <= last:
        axes.axvline(comes, color="#333333", linewidth=1)
        where = axes.get_xaxis_transform()
        axes.text(
            comes,
            0.27,
            "correction comes",
            rotation=90,
            ha="right",
            va="center",
            transform=where,
        )


def _styles(memories: Sequence[str]) -> dict[str, tuple[str, Any]]:
    """Colour and dashes of each memory."""
    others = cycle(OTHER_STYLES)
    return {name: STYLES.get(name) or next(others) for name in memories}


def _line(
    axes: Axes,
    runs: pd.DataFrame,
    column: str,
    memory: str,
    style: tuple[str, Any],
) -> None:
    share = 100 * runs[column] / runs["n_agents"]
    over_seeds = share.groupby(runs["step"])
    mean, deviation = over_seeds.mean(), over_seeds.std(ddof=0)
    low, high = (mean - deviation).clip(lower=0), (mean + deviation).clip(upper=100)
    colour, dashes = style
    axes.fill_between(mean.index, low, high, color=colour, alpha=0.09, linewidth=0)
    axes.plot(mean, color=colour, linestyle=dashes, linewidth=2.4, label=memory)
