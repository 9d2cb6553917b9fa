"""``mesa-memory estimate``: what runs will cost, before anything is paid."""

import ast
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import mesa_memory.cli.options as options
from mesa_memory.cli.console import one_line_errors
from mesa_memory.cli.output import Output, printed
from mesa_memory.cli.progress import counted_to, say, say_loading

if TYPE_CHECKING:
    from mesa_memory.experiments.estimates.estimate import Estimate

COSTS = {
    "memory": "memory", "model": "model", "tier": "tier", "calls": "calls",
    "prompt_tokens": "tokens in", "cached_tokens": "of them cached",
    "completion_tokens": "tokens out", "cost": "US dollars", "cost_low": "from",
    "cost_high": "to",
}  # fmt: skip
PURPOSES = {
    "memory": "memory", "purpose": "purpose", "calls": "calls",
    "prompt_tokens": "tokens in", "cached_tokens": "of them cached",
    "completion_tokens": "tokens out",
}  # fmt: skip


@click.command()
@click.argument("model", metavar="EXAMPLE|MODULE:CLASS")
@click.option(
    "--memory",
    "memories",
    metavar="NAME,NAME,...",
    help="The values of the model's argument memory.  [default: its own]",
)
@options.steps(40)
@click.option("--agents", type=click.IntRange(min=1), help="How many agents.")
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How many runs of each memory.",
)
@click.option(
    "--set",
    "given",
    multiple=True,
    metavar="NAME=VALUE",
    help="Any other argument of the model; may be given several times.",
)
@options.priced("openai/gpt-5-mini")
@printed
def estimate(
    model: str,
    memories: str | None,
    steps: int,
    agents: int | None,
    seeds: int,
    given: tuple[str, ...],
    models: tuple[str, ...],
    tiers: tuple[str, ...],
    cached: float | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """Estimates calls, tokens and money of runs of a model, without any of them.

    Short runs without a language model count what would be asked. MODEL is an example
    or a class of your own as MODULE:CLASS.
    """
    output = Output(as_json, limit)
    with one_line_errors(2):
        say_loading()
        model_class = model_named(model)
        parameters = parameters_of(given)
        names = [n.strip() for n in memories.split(",")] if memories else [None]
        costs, purposes = [], []
        for name in names:
            told = _told(
                model_class,
                parameters | ({} if name is None else {"memory": name}),
                name,
                {"steps": steps, "runs": seeds, "cached": cached, "agents": agents},
                list(models) or ["openai/gpt-5-mini"],
                ["", *tiers],
            )
            costs += [{"memory": name} | row for row in told.costs(as_records=True)]
            purposes += [
                {"memory": name} | row for row in told.purposes(as_records=True)
            ]
        hidden = {"memory"} if names == [None] else set()
        _print(output, costs, purposes, hidden, as_json)
    output.end()


def _told(
    model_class: Callable[..., Any],
    parameters: dict[str, Any],
    name: str | None,
    sizes: dict[str, Any],
    models: list[str],
    tiers: list[str],
) -> "Estimate":
    from mesa_memory.experiments.estimates.forecast import estimate as forecast

    with counted_to(f"Pilots of {name}" if name else "Pilots") as progress:
        return forecast(
            model_class, parameters, llm=models, tiers=tiers, progress=progress, **sizes
        )


def _print(
    output: Output,
    costs: list[dict[str, Any]],
    purposes: list[dict[str, Any]],
    hidden: set[str],
    as_json: bool,
) -> None:
    if not any(row["tier"] for row in costs):
        hidden = hidden | {"tier"}
    if not as_json:
        costs = [shown(row) for row in costs]
        purposes = [row | {"calls": round(row["calls"])} for row in purposes]
    for key, title, columns, rows in (
        ("purposes", "Requests by purpose", PURPOSES, purposes),
        ("costs", "Estimated cost (range of two pilots)", COSTS, costs),
    ):
        seen = {name: head for name, head in columns.items() if name not in hidden}
        output.table(key, title, seen, rows)
    if not as_json and any(row["cost"] == "unknown" for row in costs):
        say("A cost is unknown if litellm's price list does not have the model.")


def shown(row: dict[str, Any]) -> dict[str, Any]:
    """A row of costs for people: an unknown cost is not shown as nothing."""
    names = ("cost", "cost_low", "cost_high")
    if row["cost"] is None:
        return row | dict.fromkeys(names, "unknown")
    return row | {name: f"{row[name]:.4f}" for name in names}


def model_named(name: str) -> Callable[..., Any]:
    """An example's model, or what ``module:class`` leads to.

    Raises:
        ValueError: if there is none.
    """
    from mesa_memory.experiments.importing import MODELS, named

    where = MODELS.get(name, name)
    if ":" not in where:
        raise ValueError(
            f"there is no example {name!r}: choose from {', '.join(MODELS)}, or give "
            "a class of your own as module:class"
        )
    found = named(where, Path())
    if not callable(found):
        raise ValueError(f"{name!r} is {found!r}, and no class or function")
    return found


def parameters_of(given: tuple[str, ...]) -> dict[str, Any]:
    """``name=value`` as arguments; a value that is no Python literal is text.

    Raises:
        ValueError: for one without ``=``.
    """
    found = {}
    for each in given:
        name, mark, text = each.partition("=")
        if not mark or not name.isidentifier():
            raise ValueError(f"--set takes NAME=VALUE, such as degree=4, got {each!r}")
        try:
            found[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            found[name] = text
    return found
