"""``mesa-memory retention``: what the agents of a recorded run were still shown."""

import click

from mesa_memory.cli.output import (
    COUNT,
    Output,
    opened,
    option,
    printed,
    rows_of,
    say_loading,
)


@click.command()
@click.argument("run", metavar="RUN")
@option(
    "--intervals", "Retention intervals, with commas.", "1,5,10,20", metavar="STEPS"
)
@option("--every", "Look at each step that can be divided by it.", 5, COUNT)
@printed
def retention(run: str, intervals: str, every: int, output: Output) -> None:
    """Which of the statements that agents heard are still shown to them?

    Old statements are those an agent heard; new ones, the lures, only others heard.
    RUN is the path or address of a store; #3 after it is its third run.
    """
    steps = tuple(map(int, intervals.split(",")))
    say_loading()
    from mesa_memory.experiments import retention as measured

    with opened(run) as found:
        curve = measured(found, intervals=steps, every=every).curve.round(3)
    title = "Share of statements shown, by memory and retention interval in steps"
    output.table("retention", title, list(curve.columns), rows_of(curve))
