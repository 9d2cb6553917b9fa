"""``mesa-memory diff``: where two recorded runs part."""

import sys
from typing import TYPE_CHECKING, Any

import click

from mesa_memory.cli.console import cell, named, opened, plain_console

if TYPE_CHECKING:
    from mesa_memory.runs.compare import Difference

#: longest text of a side
SIDE_CHARS = 2_000


@click.command()
@click.argument("left", metavar="RUN_A")
@click.argument("right", metavar="RUN_B")
@click.option(
    "--by",
    type=click.Choice(("record", "event")),
    help="Compare all records, or only the agents' events, matched "
    "by kind, agent, step and text.  [default: event if the memories are of different "
    "classes, else record]",
)
def diff(left: str, right: str, by: str | None) -> None:
    """Shows the first difference of two recorded runs.

    The exit code is 0 if they are equal, 1 if not, and 2 if they cannot be compared.
    Each run is the path or address of a store; #3 after it is its third run.
    """
    console = plain_console()
    with opened(left) as mine, opened(right) as theirs:
        parting = mine.parting(theirs, None if by is None else by == "event")
    for letter, parameters in zip("AB", parting.parameters):
        if parameters:
            console.print(f"{letter} was made with {named(parameters)}", soft_wrap=True)
    if parting.events:
        console.print(
            "Only the agents' events are compared, not their memories of them."
        )
    found = parting.first
    if found is None:
        console.print("The runs are equal.")
        return
    _show(found, (left, right), console)
    sys.exit(1)


def _show(found: "Difference", names: tuple[str, str], console: Any) -> None:
    sides = list(zip(("A", "B"), names, (found.left, found.right)))
    what = f"The first difference is at step {found.step:g}, in {found.table}"
    console.print(f"{what}: {', '.join(found.fields) or 'only one run has this'}.")
    row = found.left or found.right or {}
    for name, value in row.items():
        if name not in found.fields and isinstance(value, str | int) and found.fields:
            console.print(f"  {name}: {cell(value)}", soft_wrap=True)
    for letter, name, side in sides:
        console.print(f"{letter}  {cell(name)}", soft_wrap=True)
        if side is None:
            console.print("     has none")
            continue
        for field in found.fields or side:
            console.print(
                f"     {field}: {cell(side[field], SIDE_CHARS)}", soft_wrap=True
            )
