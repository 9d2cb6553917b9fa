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
def export(run: str, out: Path) -> None:
    """Writes a recorded run as CSV files, one for each table.

    RUN is the path or address of a store; #3 after it is its third run.
    """
    with opened(run) as found:
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
