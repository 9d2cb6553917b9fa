"""``mesa-memory exam``: what memories keep, for how long, and at which price."""

from pathlib import Path
from typing import Any

import click

import mesa_memory.cli.output as options
from mesa_memory.cli.output import (
    COUNT,
    Output,
    flag,
    importable,
    option,
    printed,
    rows_of,
    say_loading,
)

#: columns of a table that fits a screen; with --json all
_SHOWN = ("intrusions", "tokens", "requests", "dollars")


@click.command()
@option(
    "--memory memories",
    "Memories, with commas: names, or module:class for your own.",
    "short_term,stlt,episodic",
    callback=options.names,
)
@option(
    "--llm",
    "Whom memories and agent ask: offline or provider/model, with commas.",
    "offline",
    callback=options.names,
    metavar="MODELS",
)
@option("--seeds", "", 5, COUNT)
@option("--steps", "Of a life; an item that does not fit is left out.", 120, COUNT)
@option(
    "--language languages",
    "Of sentences and prompts, with commas: en, de, fr, es, pt, ja, zh.",
    "en",
    callback=options.names,
)
@option("--kinds", "Of items, with commas; by default all.", callback=options.names)
@flag("--no-questions", "Look at the memories alone.")
@flag("--estimate", "Print what it will cost, and send nothing.")
@option(
    "--store", "File of the lives; finished ones are not made again.", "exam.sqlite"
)
@options.processes("How many lives at once.")
@option("--plot", "Picture of the curves.", type=click.Path(path_type=Path))
@option("--report", "Page with all tables.", type=click.Path(path_type=Path))
@option("--csv", "A row for each item.", type=click.Path(path_type=Path))
@printed
def exam(
    no_questions: bool,
    estimate: bool,
    seeds: int,
    executor: Any,
    plot: Path | None,
    report: Path | None,
    csv: Path | None,
    output: Output,
    **given: Any,
) -> None:
    """Which memory keeps what, for how long, and what does it make up?

    Each memory lives through the same made life, once for each seed, and is asked for
    what it was told 1 to 80 steps ago.
    """
    say_loading()
    importable(Path())
    from mesa_memory.experiments.exam.exam import KINDS, MEASURES, Exam

    given["kinds"] = given["kinds"] or KINDS
    found = Exam(**given, seeds=range(seeds), ask=not no_questions)
    if estimate:
        print(found.study.estimate())
        return
    result = found.run(executor)
    tables = {
        measure: (
            f"Share of items {measure}, by retention interval in steps",
            result.wide(measure),
        )
        for measure in MEASURES
    }
    price = result.table[[*result.arms, *_SHOWN]].round(3)
    tables["price"] = "Intrusions and price of a life", price
    tables["losses"] = "Share of items lost, by stage", result.losses
    for key, (title, frame) in tables.items():
        if len(frame):
            output.table(key, title, list(frame.columns), rows_of(frame.round(3)))
    if plot is not None:
        result.plot(plot)
    if report is not None:
        result.report(report, overwrite=True)
    if csv is not None:
        result.marks.to_csv(csv, index=False)
