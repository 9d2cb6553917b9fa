"""``mesa-memory report``: a recorded run as one HTML file that can be sent."""

from pathlib import Path

import click

import mesa_memory.cli.options as options
from mesa_memory.cli.console import opened


@click.command()
@click.argument("run", metavar="RUN")
@options.page_out
@click.option(
    "--agents",
    metavar="ID|NAME,...",
    help="Whose memory is shown in full.  [default: the six with most to tell]",
)
@click.option("--about", metavar="TEXT", default="", help="Show how this text spreads.")
@click.option(
    "--megabytes",
    type=click.FloatRange(min=0.1),
    default=5.0,
    show_default=True,
    help="Largest size of the file; the report names its omissions.",
)
@options.overwrite
def report(
    run: str,
    out: Path,
    agents: str | None,
    about: str,
    megabytes: float,
    overwrite: bool,
) -> None:
    """Writes a recorded run as one HTML file, to be sent and opened anywhere.

    RUN is the path or address of a store; #3 after it is its third run. The file needs
    no server, no network and no installation: it plays the story, and shows curves, the
    memory of some agents, why they recalled what, cost and methods.
    """
    with opened(run) as found:
        from mesa_memory.viz.report import write_report

        names = None if agents is None else _split(agents)
        written = write_report(
            found,
            out,
            names,
            about=about,
            largest=int(megabytes * 1_000_000),
            overwrite=overwrite,
        )
    size = written.size / 1_000_000
    print(f"Wrote {written.path} ({size:.1f} MB)")
    for note in written.notes:
        print(note)


def _split(given: str) -> list[str]:
    return [name.strip() for name in given.split(",") if name.strip()]
