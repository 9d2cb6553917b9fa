"""``mesa-memory cost``: the cost of the language model in a recorded run."""

from typing import Any

import click

from mesa_memory.cli.console import opened
from mesa_memory.cli.output import Output, printed
from mesa_memory.core.content import dollars

_SUMS = (
    "calls", "tokens_in", "tokens_cached", "tokens_out", "cost", "latency", "failures",
    "asked_again", "doubtful", "given_up", "cached_calls",
)  # fmt: skip
#: columns that are shown only where there is something to show
_WHERE_KNOWN = ("tokens_cached", "cached_calls")


@click.command()
@click.argument("run", metavar="RUN")
@click.option(
    "--by",
    multiple=True,
    default=("purpose",),
    show_default=True,
    metavar="COLUMN",
    help="What to sum by, such as agent, step or model; may be given several times.",
)
@printed
def cost(run: str, by: tuple[str, ...], output: Output) -> None:
    """Sums calls, tokens and money of a recorded run.

    RUN is the path or address of a store; #3 after it is its third run.
    """
    with opened(run) as found:
        names = list(dict.fromkeys(by))
        rows = found.cost(names, as_records=True)
        total = found.cost((), as_records=True)[0]
        total |= dict.fromkeys(names) | {names[0]: "total"}
        if not output.as_json:
            rows, total = [_shown(row) for row in rows], _shown(total)
        called = found.names if "agent" in names else {}
        for row in rows:
            if name := called.get(row.get("agent")):
                row["agent"] = f"{name} ({row['agent']})"
        sums = [name for name in _SUMS if name not in _WHERE_KNOWN or total[name]]
        title = f"Cost of run {found.id}"
        output.table("cost", title, [*names, *sums], [*rows, total])


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    """An unknown cost is not shown as nothing."""
    known = row["cost"] is not None
    price = dollars(row["cost"]) if known else f"unknown ({row['unpriced']} calls)"
    return row | {"cost": price}
