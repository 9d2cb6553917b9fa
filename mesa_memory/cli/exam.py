"""``mesa-memory exam``: what memories keep, for how long, and at which price."""

from pathlib import Path
from typing import Any

import click

from mesa_memory.cli.output import (
    COUNT,
    Output,
    flag,
    option,
    printed,
    rows_of,
    say_loading,
)

#: columns of a table that fits a screen; with --json all
_SHOWN = ("intrusions", "tokens", "requests", "dollars")


@click.command()
@option(
    "--memory",
    "Memories, with commas: names, or module:class for your own.",
    "short_term,stlt,episodic",
    metavar="NAMES",
)
@option(
    "--llm",
    "Whom memories and agent ask: offline or provider/model, with commas.",
    "offline",
    metavar="MODELS",
)
@option("--seeds", "", 5, COUNT)
@option("--steps", "Of a life; an item that does not fit is left out.", 120, COUNT)
@option(
    "--language",
    "Of sentences and prompts, with commas: en, de, fr, es, pt, ja, zh.",
    "en",
)
@option("--kinds", "Of items, with commas; by default all.", metavar="KINDS")
@flag("--no-questions", "Look at the memories alone.")
@flag("--estimate", "Print what it will cost, and send nothing.")
@option(
    "--store", "File of the lives; finished ones are not made again.", "exam.sqlite"
)
@option("--processes", "How many lives at once.", type=COUNT)
@option("--plot", "Picture of the curves.", type=click.Path(path_type=Path))
@option("--report", "Page with all tables.", type=click.Path(path_type=Path))
@option("--csv", "A row for each item.", type=click.Path(path_type=Path))
@printed
def exam(
    memory: str,
    llm: str,
    seeds: int,
    steps: int,
    language: str,
    kinds: str | None,
    no_questions: bool,
    estimate: bool,
    store: str,
    processes: int | None,
    plot: Path | None,
    report: Path | None,
    csv: Path | None,
    output: Output,
) -> None:
    """Which memory keeps what, for how long, and what does it make up?

    Each memory lives through the same made life, once for each seed, and is asked for
    what it was told 1 to 80 steps ago.
    """
    say_loading()
    from mesa_memory.experiments.exam.exam import KINDS, Exam

    found = Exam(
        memory.split(","),
        llm=llm.split(","),
        seeds=range(seeds),
        steps=steps,
        languages=language.split(","),
        kinds=kinds.split(",") if kinds else KINDS,
        ask=not no_questions,
        store=store,
    )
    if estimate:
        print(found.estimate())
        return
    result = found.run("serial" if processes == 1 else processes)
    for measure in ("shown", "found", "answered"):
        _table(output, measure, result)
    price = result.table[[*result.arms, *_SHOWN]].round(3)
    _print(output, "price", "Intrusions and price of a life", price)
    losses = result.losses.round(2)
    _print(output, "losses", "Share of items lost, by stage", losses)
    if plot is not None:
        result.plot(plot)
    if report is not None:
        result.report(report, overwrite=True)
    if csv is not None:
        result.marks.to_csv(csv, index=False)


def _table(output: Output, measure: str, result: Any) -> None:
    """The shares of one measure by interval."""
    shares = result.shares(measure)
    if shares.empty:
        return
    wide = (
        shares.set_index([*result.arms, "interval"])["mean"]
        .unstack(sort=False)
        .sort_index(axis=1)
        .round(2)
    )
    wide.columns = [f"{column:g}" for column in wide.columns]
    title = f"Share of items {measure}, by retention interval in steps"
    _print(output, measure, title, wide.reset_index())


def _print(output: Output, key: str, title: str, frame: Any) -> None:
    output.table(key, title, list(frame.columns), rows_of(frame))
