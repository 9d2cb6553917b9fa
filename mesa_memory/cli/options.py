"""Options that several commands have."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click


def importable(folder: Path) -> None:
    """Lets modules of a folder be imported, as ``python -m`` does in the current one."""
    place = str(folder.absolute())
    if place not in sys.path:
        sys.path.insert(0, place)


llm = click.option(
    "--llm",
    default="offline",
    show_default=True,
    metavar="offline|PROVIDER/MODEL",
    help="The language model of the agents; offline needs neither key nor network.",
)
api_base = click.option(
    "--api-base", metavar="URL", help="Address of the provider, for own servers."
)
agents = click.option(
    "--agents",
    type=click.IntRange(min=3),
    default=30,
    show_default=True,
    help="People in the town.",
)
_host = click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen at. Any other than the default lets other machines connect.",
)
port = click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8765,
    show_default=True,
    help="Port to listen at; 0 takes a free one.",
)
_open = click.option(
    "--open/--no-open", "open_page", default=True, help="Open the browser."
)

page_out = click.option(
    "--out",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    default="report.html",
    show_default=True,
    help="The file to write.",
)
overwrite = click.option(
    "--overwrite", is_flag=True, help="Replace a file that exists."
)


def steps(default: int, what: str = "Steps of each run.") -> Callable[..., Any]:
    """The number of steps."""
    return click.option(
        "--steps",
        type=click.IntRange(min=1),
        default=default,
        show_default=True,
        help=what,
    )


def served(command: Callable[..., Any]) -> Callable[..., Any]:
    """The address of a page: ``host``, ``port`` and ``open_page``."""
    return _host(port(_open(command)))
