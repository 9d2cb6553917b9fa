"""The exam as one HTML file: curves, tables, losses and errors."""

from importlib.resources import files
from pathlib import Path
from typing import Any

from mesa_memory import __version__
from mesa_memory.core.content import dollars
from mesa_memory.experiments.reports.templates import picture, policy, template

NOTES = {
    "Shares": "Share of items that are right, mean over seeds: shown in the agent's "
    "prompt, found among three recalled records, answered by the language model.",
    "Losses": "Share of all items that were lost, by the stage at which they were.",
    "Kinds": "Share of items shown, by kind.",
    "Errors": "Items that were not right, by kind and judgement.",
}


def write_exam_report(result: Any, path: str | Path, overwrite: bool = False) -> Path:
    """Writes the page; see ``ExamResult.report``.

    Raises:
        FileExistsError: if there is such a file, and ``overwrite`` is False.
    """
    kinds = result.wide(by="kind")
    tables = [result.table, result.losses, kinds, result.errors]
    style = (files("mesa_memory.experiments.reports") / "study_report.css").read_text()
    told = template("mesa_memory.experiments.exam", "exam_report.html").render(
        tables=[(*note, *_rows(frame)) for note, frame in zip(NOTES.items(), tables)],
        lives=len(result.lives),
        plot=picture(result.figure()),
        style=style,
        policy=policy(style),
        version=__version__,
    )
    with open(path, "w" if overwrite else "x", encoding="utf-8") as file:
        file.write(told)
    return Path(path)


def _rows(frame: Any) -> tuple[list[str], list[list[str]]]:
    columns = list(frame.columns)
    rows = [
        [_cell(name, value) for name, value in zip(columns, row)]
        for row in frame.itertuples(index=False)
    ]
    return columns, rows


def _cell(name: str, value: Any) -> str:
    if value != value or value is None:
        return ""
    if name in ("dollars", "per_kept"):
        return dollars(value)
    return f"{value:.2f}" if isinstance(value, float) else str(value)
