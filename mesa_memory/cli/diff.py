"""``mesa-memory diff``: where two recorded runs part."""

import sys
from typing import TYPE_CHECKING

import click

from mesa_memory.cli.console import cell, named, opened

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
    with opened(left) as mine, opened(right) as theirs:
        parting = mine.parting(theirs, None if by is None else by == "event")
    for letter, parameters in zip("AB", parting.parameters):
        if parameters:
            print(f"{letter} was made with {named(parameters)}")
    if parting.events:
        print("Only the agents' events are compared, not their memories of them.")
    found = parting.first
    if found is None:
        print("The runs are equal.")
        return
    _show(found, (left, right))
    sys.exit(1)


def _show(found: "Difference", names: tuple[str, str]) -> None:
    sides = list(zip(("A", "B"), names, (found.left, found.right)))
    what = f"The first difference is at step {found.step:g}, in {found.table}"
    print(f"{what}: {', '.join(found.fields) or 'only one run has this'}.")
    row = found.left or found.right or {}
    for name, value in row.items():
        if name not in found.fields and isinstance(value, str | int) and found.fields:
            print(f"  {name}: {cell(value)}")
    for letter, name, side in sides:
        print(f"{letter}  {cell(name)}")
        if side is None:
            print("     has none")
            continue
        for field in found.fields or side:
            print(f"     {field}: {cell(side[field], SIDE_CHARS)}")
