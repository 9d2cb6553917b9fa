"""``mesa-memory attribute``: the memories on which the outcome of a run depends."""

import pkgutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

import mesa_memory.cli.options as options
from mesa_memory.cli.console import say_loading
from mesa_memory.cli.output import Output, printed
from mesa_memory.cli.study import rows_of


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--model", required=True, metavar="MODULE:CLASS", help="The run's model.")
@click.option(
    "--step",
    type=float,
    required=True,
    help="Erase after this step; with --agent, the step of the decision.",
)
@click.option("--agent", help="Unique id of one agent, whose decision is asked about.")
@click.option(
    "--steps", type=click.IntRange(min=1), help="Step at which a copy of the run ends."
)
@click.option(
    "--outcome",
    metavar="MODULE:FUNCTION",
    help="Model to number; not needed with --agent.",
)
@click.option(
    "--max-runs", type=click.IntRange(min=3), help="End after so many copies."
)
@click.option(
    "--trust",
    is_flag=True,
    help="Take addresses, models and code from the file, which is your own.",
)
@click.option(
    "--screen",
    type=click.IntRange(min=2),
    default=12,
    show_default=True,
    help="Runs of each group, if answers differ from run to run.",
)
@printed
def attribute(
    run: str, model: str, step: float, agent: str | None, steps: int | None,
    outcome: str | None, max_runs: int | None, trust: bool, screen: int, output: Output,
) -> None:  # fmt: skip
    """Erases memories of a recorded run in turn, to see on which its outcome depends.

    RUN is the path or address of a store; #3 after it is its third run. The run stays as
    it is. Copies of it go on from the step; what they ask of language models is paid, and
    the price is said before. Ctrl-C ends it and prints what was found.
    """
    say_loading()
    from mesa_memory.experiments.attribution import attribute as find
    from mesa_memory.runs import open_run

    with open_run(run) as recorded:
        location, number = recorded.location, recorded.id
        known = {str(text): own for text, own in recorded.unique_ids.items()}
    found = find(
        imported(model), location, run=number, step=step, steps=steps, screen=screen,
        outcome=None if outcome is None else imported(outcome), max_runs=max_runs, trust=trust,
        agent=None if agent is None else known.get(agent, agent),
    )  # fmt: skip
    output.report(str(found))
    names = ("what", "who", "single", "effect", "low", "high", "p_holm", "stays")
    rows = rows_of(found.table())
    output.table("effects", "Without it", names, rows)


def imported(name: str) -> Callable[..., Any]:
    """The class or function at ``module:name``.

    Raises:
        ValueError: if it cannot be loaded, or is neither of them.
    """
    options.importable(Path())
    try:
        found = pkgutil.resolve_name(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(
            f"{name!r} cannot be loaded: {error}. Give module:name"
        ) from error
    if not callable(found):
        raise ValueError(f"{name!r} is {found!r}, not a class or function")
    return found
