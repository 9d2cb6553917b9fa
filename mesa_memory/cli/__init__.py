"""The command ``mesa-memory``: a demonstration, sweeps of the examples, recorded runs.

Everything heavy is imported inside the commands, so that ``--help`` answers at once.
"""

from pathlib import Path

import click

from mesa_memory import __version__
from mesa_memory.cli import options, town
from mesa_memory.cli.attribute import attribute
from mesa_memory.cli.console import Commands, plain_console
from mesa_memory.cli.cost import cost
from mesa_memory.cli.dashboard import dashboard
from mesa_memory.cli.demo import demo
from mesa_memory.cli.diff import diff
from mesa_memory.cli.estimate import estimate
from mesa_memory.cli.export import copy, export
from mesa_memory.cli.inspect import inspect
from mesa_memory.cli.output import Output
from mesa_memory.cli.progress import say_loading
from mesa_memory.cli.prompts import prompts
from mesa_memory.cli.report import report
from mesa_memory.cli.study import study
from mesa_memory.examples import EXAMPLES
from mesa_memory.examples.rumor import MEMORIES


@click.group("mesa-memory", cls=Commands)
@click.version_option(__version__, prog_name="mesa-memory")
def main() -> None:
    """Memory for the agents of Mesa-LLM simulations."""


@main.command()
@click.argument("example", type=click.Choice(EXAMPLES), metavar="EXAMPLE")
@click.option(
    "--memory",
    "memories",
    default=",".join(MEMORIES),
    show_default=True,
    metavar="NAME,NAME,...",
    help="The memories to compare; also memories of installed packages, and classes "
    "of your own as MODULE:CLASS.",
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Runs of each memory, with the seeds 0, 1, ...",
)
@options.steps(40)
@options.agents
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    help="Runs at the same time.  [default: one per processor]",
)
@options.llm
@options.api_base
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=".",
    show_default=True,
    help="Folder for the table (CSV) and the picture (PNG).",
)
def batch(
    example: str,
    memories: str,
    seeds: int,
    steps: int,
    agents: int,
    processes: int | None,
    llm: str,
    api_base: str | None,
    out: Path,
) -> None:
    """Compares memories over many runs of EXAMPLE.

    Writes a table of every run and step, and a picture.
    """
    console = plain_console()
    say_loading()
    from mesa_memory.examples.rumor import batch as sweep
    from mesa_memory.examples.rumor.model import RumorModel

    # What cannot work is found here, and not in every process after minutes.
    out.mkdir(parents=True, exist_ok=True)
    names = list(dict.fromkeys(name.strip() for name in memories.split(",")))
    options.importable(Path())
    for memory in names:
        RumorModel(3, memory, llm, api_base=api_base)
    frame = sweep.run(
        names, seeds, steps, agents, llm=llm, api_base=api_base, processes=processes
    )
    written = sweep.write(frame, out)
    town.compare(sweep.summary(frame), agents, Output())
    for path in written:
        console.print(f"Wrote {path}", soft_wrap=True)


for _command in (
    *(demo, study, estimate, inspect, report, cost, dashboard, diff),
    *(copy, export, prompts, attribute),
):
    main.add_command(_command)
