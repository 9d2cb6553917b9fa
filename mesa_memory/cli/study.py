"""``mesa-memory study``: runs of a model with memory as a factor, described in a file."""

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import mesa_memory.cli.output as options
from mesa_memory.cli.output import (
    NEW_FILE,
    Output,
    flag,
    option,
    printed,
    rows_of,
    say,
    say_loading,
)
from mesa_memory.runs.spreadsheet import write_csv

if TYPE_CHECKING:
    from mesa_memory.experiments.studies.study import Study

#: tables of results
RESULT_TABLES = ("runs", "steps", "agents", "calls", "answers")

file_argument = click.argument("file", metavar="FILE")


@click.group()
def study() -> None:
    """Runs a model with each combination of factors and seeds.

    FILE is a Python file with a variable study = Study(...).
    """


@study.command()
@file_argument
@options.processes(
    "How many runs at once; 1 makes them in this process.  [default: one per processor]"
)
@flag(
    "--accept-drift",
    "Go on although code, prompts, configuration or versions have changed.",
)
@option(
    "--shard", "Only each N-th run, in a file of its own; then gather.", metavar="K/N"
)
@printed
def run(
    file: str, executor: Any, accept_drift: bool, shard: str | None, output: Output
) -> None:
    """Makes the runs that are missing.

    Finished ones are not made again. The exit code is 1 if a run failed.
    """
    found = read_study(file)
    if shard is not None:
        number, of = _shard(shard)
        found, executor = found.shard(number, of), executor or "serial"
    progress = found.run(executor, accept_drift=accept_drift)
    _tell(output, found, progress)
    if progress.failed:
        output.end()
        sys.exit(1)


def _shard(given: str) -> tuple[int, int]:
    """The numbers in ``3/40``."""
    number, _, of = given.partition("/")
    if not (number.isdecimal() and of.isdecimal()):
        raise ValueError(f"--shard takes K/N, such as 3/40, got {given!r}")
    return int(number), int(of)


@study.command()
@file_argument
def gather(file: str) -> None:
    """Takes the finished runs of all shards into the study's own file."""
    found = read_study(file)
    print(f"{found.gather()} runs were taken over into {found.location}")


@study.command()
@file_argument
@printed
def status(file: str, output: Output) -> None:
    """Says how many runs are finished, missing and failed, and what memories made."""
    found = read_study(file)
    _tell(output, found, found.status())


@study.command()
@file_argument
@option("--table", "Which table.", "runs", click.Choice(RESULT_TABLES))
@option("--out", "Write it into this CSV file instead.", type=NEW_FILE)
@printed
def results(file: str, table: str, out: Path | None, output: Output) -> None:
    """Prints the results so far, or writes them as CSV."""
    frame = getattr(read_study(file).results(), table)
    if out is not None:
        write_csv(frame, out)
        print(f"Wrote {out}")
        return
    columns = list(map(str, frame.columns))
    output.table(table, f"{table} of {file}", columns, rows_of(frame))


@study.command()
@file_argument
@option(
    "--llm models",
    "A model to be priced; may be given several times.  [default: the models of "
    "the study]",
    multiple=True,
    metavar="PROVIDER/MODEL",
)
@printed
def estimate(file: str, models: tuple[str, ...], output: Output) -> None:
    """Estimates the cost of the missing runs, before anything is paid."""
    found = read_study(file)
    say("Counting the requests of short runs without a language model ...")
    told = found.estimate(list(models))
    output.report(str(told), arms=told.costs(as_records=True), total=told.total)


def compared(command: Any) -> Any:
    """The options that say what is compared; without any, what the study's plan says."""
    for name, told in (
        ("--margin", "The largest difference that counts as none."),
        ("--outcome", "Name of the outcome.  [default: the plan's, or the only one]"),
        (
            "--base",
            "The level that the others are compared with.  [default: the first]",
        ),
        ("--factor", "The factor with the levels to compare.  [default: the only one]"),
        ("--by", "Another factor: does the effect differ between its levels?"),
    ):
        kind = float if name == "--margin" else str
        command = click.option(name, type=kind, help=told)(command)
    return command


@study.command()
@file_argument
@compared
@option("--plot", "Draw a line for each seed into this picture file.", type=NEW_FILE)
@printed
def compare(file: str, plot: Path | None, output: Output, **given: Any) -> None:
    """Compares the arms with one of them, by paired differences on seeds."""
    made = read_study(file)
    found = made.compare(**_with_level(made, given))
    if plot is not None:
        found.plot(plot)
    output.report(str(found), arms=rows_of(found.table()), text=str(found))


@study.command()
@file_argument
@compared
@options.page_out
@options.overwrite
def report(file: str, out: Path, overwrite: bool, **given: Any) -> None:
    """Writes the study as one HTML file: verdict, plot, cost, one decision, methods."""
    found = read_study(file)
    found.report(out, overwrite=overwrite, **_with_level(found, given))
    print(f"Wrote {out}")


@study.command()
@file_argument
@compared
@option("--effect", "The difference that must be found.", type=float)
@option("--interaction", "With --by, that of two effects.", type=float)
@option("--power", "0 to 1.", 0.8, float)
@option("--half-width", "Or half the width of the interval.", type=float)
@printed
def seeds(file: str, output: Output, **given: Any) -> None:
    """Says how many seeds the arms need, with the finished runs as the pilot."""
    found = read_study(file)
    needed = found.seeds_for(**_with_level(found, given))
    title = "Seeds that each arm needs, with the finished runs as the pilot"
    rows = [
        {"arm": arm, "seeds": least, "at most": most}
        for arm, (least, most) in needed.items()
    ]
    output.table("seeds", title, ("arm", "seeds", "at most"), rows)


def _with_level(found: "Study", given: dict[str, Any]) -> dict[str, Any]:
    """The options, with the base as a level of the factor instead of its text."""
    factor, base = given["factor"], given["base"]
    if base is None:
        return given
    name = factor or next(iter(found.design.varied), "")
    levels = {str(level): level for level in found.design.levels(name)}
    return given | {"base": levels.get(base, base)}


@study.command()
@file_argument
@option("--memory", "The level to audit.", required=True)
@option("--outcome", "Name of the outcome.  [default: the only one]")
@option("--base", "A level to show the effect of the memory beside.")
@option(
    "--axis axes",
    "order, ids, names, streams, label or sharing; several times.  [default: wording]",
    ("wording",),
    multiple=True,
    show_default=False,
)
@option("--margin", "The largest change that counts as none.", type=float)
@options.processes("As for run.")
def audit(file: str, **given: Any) -> None:
    """Runs one arm again with changes that must not matter, such as other wordings."""
    print(str(read_study(file).audit(**given)))


@study.command()
@file_argument
def methods(file: str) -> None:
    """Prints the methods section: design, models, cost, versions, accepted changes."""
    print(read_study(file).methods())


@study.command()
@file_argument
def checklist(file: str) -> None:
    """Prints the core items of GUIDE-LLM and the sections of ODD, in Markdown."""
    print(read_study(file).checklist())


@study.command()
@file_argument
@option(
    "--out",
    "A new folder.",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    metavar="DIR",
)
@flag("--no-texts", "Leave out what agents and models said.")
def archive(file: str, out: Path, no_texts: bool) -> None:
    """Writes the study as a sealed folder, with the hashes of all files."""
    place = read_study(file).archive(out, texts=not no_texts)
    seal = json.loads((place / "seal.json").read_text(encoding="utf-8"))["seal"]
    print(f"Wrote {place}, with the seal {seal}")


@study.command()
@click.argument("folder", metavar="DIR")
@option("--seal", "The hash in seal.json, as the paper gives it.")
def verify(folder: str, seal: str | None) -> None:
    """Checks a folder that archive has written; the exit code is 1 if it was changed."""
    from mesa_memory.experiments import verify as check

    changes = check(folder, seal=seal)
    for change in changes or ["The folder is as it was sealed."]:
        print(change)
    if changes:
        sys.exit(1)


def read_study(file: str) -> "Study":
    """The variable ``study`` of a module, which other processes can import, too."""
    say_loading()
    from mesa_memory.experiments import Study

    path = Path(file)
    if path.suffix != ".py" or not path.is_file():
        raise ValueError(f"{file} was not found, or is not a Python file (.py)")
    options.importable(path.parent)
    module = import_module(path.stem)
    if Path(module.__file__ or "").absolute() != path.absolute():
        raise ValueError(
            f"{file} cannot be loaded: another module is called {path.stem!r} already "
            f"({module.__file__}). Give the file another name."
        )
    found = getattr(module, "study", None)
    if not isinstance(found, Study):
        raise ValueError(
            f"{file} must have a variable study = Study(…), and study is {found!r}"
        )
    return found


def _tell(output: Output, found: "Study", status: Any) -> None:
    counted = {"study": found.name, "store": str(found.location), **status.counts}
    counted |= {"calls": status.calls, "cost": status.cost}
    if status.forecast is not None:
        counted |= {f"{n} as forecast": v for n, v in status.forecast.items()}
    failed, warnings = status.failed, status.warnings
    output.report(str(status), study=counted, failed=failed, warnings=warnings)
    if checks := status.checks:
        names = [name for name in checks[0] if name != "parameters"]
        output.table("checks", "Manipulation checks", names, checks)
