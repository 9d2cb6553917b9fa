"""``mesa-memory export`` and ``copy``: a run for other tools and places."""

from pathlib import Path

import click

from mesa_memory.cli.console import opened


@click.command()
@click.argument("run", metavar="RUN")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    metavar="DIR",
    help="Folder for the files, one for each table.",
)
@click.option(
    "--panel",
    type=click.Choice(["csv", "parquet"]),
    is_flag=False,
    flag_value="csv",
    help="Instead, one row for each agent and step, with a codebook; csv or parquet.",
)
@click.option(
    "--no-texts",
    is_flag=True,
    help="Of a panel, leave out all texts of agents and models.",
)
def export(run: str, out: Path, panel: str | None, no_texts: bool) -> None:
    """Writes a recorded run as CSV files, one for each table.

    RUN is the path or address of a store; #3 after it is its third run.
    """
    with opened(run) as found:
        if panel:
            path = found.panel(out / f"panel.{panel}", texts=not no_texts)
            print(f"Wrote {path} and its codebook.csv")
            return
        for path in found.export(out):
            print(f"Wrote {path}")


@click.command()
@click.argument("store", metavar="RUN")
@click.argument("target", metavar="TARGET")
def copy(store: str, target: str) -> None:
    """Copies the file of a recorded run, also while it is being recorded.

    RUN is the path of a SQLite file, TARGET a new path. The copy is complete: the newest
    steps are often not in the file itself, but in files beside it.
    """
    from mesa_memory.stores.copying import copy_file

    print(f"Wrote {copy_file(store, target)}")
