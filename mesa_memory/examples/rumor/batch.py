"""The same towns with different memories, many times over: table and picture."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib
import pandas as pd
from cycler import cycler
from matplotlib.figure import Figure

from mesa_memory.errors import StudyError
from mesa_memory.examples.rumor import MEMORIES
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.experiments import Study
from mesa_memory.runs.spreadsheet import write_csv

_COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES = ("--", "-", (0, (7, 1.5)), (0, (4, 1.5)), "-.", ":", (0, (2, 1)))
#: colours of Okabe and Ito, which colour-blind readers can tell apart, and dashes
LINE_STYLES = cycler(color=_COLOURS) + cycler(linestyle=_DASHES)
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
) -> pd.DataFrame:
    """Runs each memory with the seeds 0, 1, …: equal seeds are equal towns.

    Args:
        memories: names, see ``memory`` of ``RumorModel``.
        n_agents, correction_step, llm, api_base: see ``RumorModel``.
        processes: how many at once; None for one per processor.
        progress: show a bar.

    Returns:
        One row for each run and step, the same for any number of processes.
    """
    factors = {
        "memory": list(memories),
        "n_agents": n_agents,
        "correction_step": correction_step,
        "llm": llm,
        "api_base": api_base,
    }
    with TemporaryDirectory(prefix="mesa-memory-") as folder:
        study = Study(
            RumorModel,
            factors,
            seeds=range(seeds),
            steps=steps,
            store=Path(folder) / "study.sqlite",
            record=False,
        )
        alone = 1 in (processes, seeds * len(memories))
        status = study.run("serial" if alone else processes, progress=progress)
        if status.failed:
            raise StudyError(str(status))
        frame = study.results().steps
    frame["cost"] = pd.to_numeric(frame["cost"])  # unknown, None, becomes NaN
    return frame.drop(columns=["api_base", "replicate"])


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
    for axes, (column, title) in zip(panels, PANELS.items()):
        axes.set_prop_cycle(LINE_STYLES)
        for memory, runs in frame.groupby("memory", sort=False):
            share = (100 * runs[column] / runs["n_agents"]).groupby(runs["step"])
            mean, deviation = share.mean(), share.std(ddof=0)
            low, high = mean - deviation, mean + deviation
            (line,) = axes.plot(mean, linewidth=2.4, label=memory)
            band = {"color": line.get_color(), "alpha": 0.09, "linewidth": 0}
            axes.fill_between(mean.index, low.clip(0), high.clip(upper=100), **band)
        comes = frame["correction_step"].iloc[0]
        axes.axvline(comes, color="#333333", linewidth=1, label="correction comes")
        axes.set(
            title=title, xlabel=f"Step (mean ± s.d. of {frame['seed'].nunique()} runs)"
        )
        axes.grid(alpha=0.25, linewidth=0.6)
    panels[0].set(ylabel="Share of the town (%)", ylim=(-2, 102))
    lines, names = panels[0].get_legend_handles_labels()
    figure.legend(
        lines, names, loc="outside lower center", ncols=len(names), frameon=False
    )
    return figure
