"""The command ``mesa-memory``: a demonstration, sweeps of the examples, recorded runs.

Everything heavy is imported inside the commands, so that ``--help`` answers at once.
"""

import time
from pathlib import Path
from typing import Any

import click

from mesa_memory import __version__
from mesa_memory.commands.console import one_line_errors as _one_line_errors
from mesa_memory.commands.console import plain_console as _console
from mesa_memory.commands.cost import cost
from mesa_memory.commands.dashboard import dashboard
from mesa_memory.commands.diff import diff
from mesa_memory.commands.export import export, migrate
from mesa_memory.commands.inspect import inspect
from mesa_memory.examples import EXAMPLES
from mesa_memory.examples.rumor import MEMORIES

_llm = click.option(
    "--llm",
    default="offline",
    show_default=True,
    metavar="offline|PROVIDER/MODEL",
    help="Who speaks and remembers for the agents; offline needs no key, no network.",
)
_api_base = click.option(
    "--api-base", metavar="URL", help="Address of the provider, for own servers."
)
_agents = click.option(
    "--agents",
    type=click.IntRange(min=3),
    default=30,
    show_default=True,
    help="How many people live in the town.",
)


def _steps(default: int) -> Any:
    return click.option(
        "--steps",
        type=click.IntRange(min=1),
        default=default,
        show_default=True,
        help="How long to run.",
    )


def _names(_: click.Context, option: click.Parameter, given: str) -> list[str]:
    """The memories in a list with commas, each once."""
    names = list(dict.fromkeys(name.strip() for name in given.split(",")))
    unknown = [name for name in names if name not in MEMORIES]
    if unknown:
        raise click.BadParameter(
            f"{', '.join(map(repr, unknown))}: choose from {', '.join(MEMORIES)}.",
            param=option,
        )
    return names


@click.group("mesa-memory")
@click.version_option(__version__, prog_name="mesa-memory")
def main() -> None:
    """Memory for the agents of Mesa-LLM simulations."""


@main.command()
@click.option(
    "--memory",
    type=click.Choice(MEMORIES),
    default="stlt",
    show_default=True,
    help="Everyone's memory.",
)
@_agents
@_steps(25)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=42,
    show_default=True,
    help="The same seed gives the same town and the same meetings.",
)
@_llm
@_api_base
@click.option(
    "--record",
    metavar="FILE|URL",
    help="Write the run into a store, to inspect, resume or replay it.",
)
@click.option(
    "--headless",
    is_flag=True,
    expose_value=False,
    help="Open no browser; a demo opens none yet.",
)
def demo(
    memory: str,
    agents: int,
    steps: int,
    seed: int,
    llm: str,
    api_base: str | None,
    record: str | None,
) -> None:
    """Plays a town in which a rumour spreads.

    Shows who knows and believes what, why, one memory in full, and what it cost.
    """
    from rich.console import Console
    from rich.progress import track

    console, progress = _console(), Console(stderr=True)
    with _one_line_errors():
        from mesa_memory import Services
        from mesa_memory.examples.rumor import report
        from mesa_memory.examples.rumor.model import RumorModel

        started = time.perf_counter()
        model = RumorModel(
            agents, memory, llm, api_base=api_base, rng=seed, record=record
        )
        quiet = not progress.is_terminal
        for _ in track(range(steps), "Days in town", console=progress, disable=quiet):
            model.step()
        seconds = time.perf_counter() - started
        if recorder := Services.of(model).recorder:
            recorder.close()
        console.print(f"Memory {memory}, language model {llm}, seed {seed}.\n")
        report.show(model, seconds, console)


@main.command()
@click.argument("example", type=click.Choice(EXAMPLES), metavar="EXAMPLE")
@click.option(
    "--memory",
    "memories",
    default=",".join(MEMORIES),
    show_default=True,
    callback=_names,
    metavar="NAME,NAME,...",
    help="The memories to compare.",
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="How many runs of each memory, with the seeds 0, 1, ...",
)
@_steps(40)
@_agents
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    help="How many runs at once.  [default: one per processor]",
)
@_llm
@_api_base
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=".",
    show_default=True,
    help="Folder for the table (CSV) and the picture (PNG).",
)
def batch(
    example: str,
    memories: list[str],
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
    console = _console()
    with _one_line_errors():
        from mesa_memory.examples.rumor import batch as sweep
        from mesa_memory.examples.rumor import report
        from mesa_memory.examples.rumor.model import RumorModel

        # What cannot work is found here, and not in every process after minutes.
        out.mkdir(parents=True, exist_ok=True)
        RumorModel(3, llm=llm, api_base=api_base)
        frame = sweep.run(
            memories,
            seeds,
            steps,
            agents,
            llm=llm,
            api_base=api_base,
            processes=processes,
        )
        written = sweep.write(frame, out)
        console.print(report.comparison(sweep.summary(frame), agents))
        for path in written:
            console.print(f"Wrote {path}", soft_wrap=True)


for _command in (inspect, cost, dashboard, diff, export, migrate):
    main.add_command(_command)


if __name__ == "__main__":
    main()
