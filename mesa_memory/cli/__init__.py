"""The command ``mesa-memory``: a demonstration, studies, recorded runs.

Everything heavy is imported inside the commands, so that ``--help`` answers at once.
"""

import click

from mesa_memory import __version__
from mesa_memory.cli.demo import demo
from mesa_memory.cli.doctor import doctor
from mesa_memory.cli.exam import exam
from mesa_memory.cli.output import Commands
from mesa_memory.cli.prompts import prompts
from mesa_memory.cli.run import (
    attribute,
    copy,
    cost,
    dashboard,
    diff,
    drift,
    export,
    inspect,
    report,
    retention,
)
from mesa_memory.cli.study import study


@click.group("mesa-memory", cls=Commands)
@click.version_option(__version__, prog_name="mesa-memory")
def main() -> None:
    """Memory for the agents of Mesa-LLM simulations."""


for _command in (
    *(demo, study, exam, inspect, report, cost, dashboard, diff),
    *(copy, export, prompts, attribute, doctor, retention, drift),
):
    main.add_command(_command)
