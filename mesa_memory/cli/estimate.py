"""``mesa-memory estimate``: the cost of runs, before anything is paid."""

import ast
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

import mesa_memory.cli.options as options
from mesa_memory.cli.console import counted_to, say, say_loading
from mesa_memory.cli.output import Output, dollars, printed

#: models of the examples by name
MODELS = {"rumor": "mesa_memory.examples.rumor.model:RumorModel"}
COSTS = (
    "memory", "model", "calls", "prompt_tokens", "cached_tokens",
    "completion_tokens", "cost", "cost_low", "cost_high",
)  # fmt: skip
PURPOSES = ("memory", "purpose", *COSTS[2:6])


@click.command()
@click.argument("model", metavar="EXAMPLE|MODULE:CLASS")
@click.option(
    "--memory",
    "memories",
    metavar="NAME,NAME,...",
    help="The values of the model's argument memory.  [default: its own]",
)
@options.steps(40)
@click.option("--agents", type=click.IntRange(min=1), help="Number of agents.")
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Runs of each memory.",
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
    output: Output,
) -> None:
    """Estimates calls, tokens and money of runs of a model, without any of them.

    Short runs without a language model count what would be asked. MODEL is an example
    or a class of your own as MODULE:CLASS.
    """
    say_loading()
    from mesa_memory.experiments.estimates.forecast import estimate as forecast

    model_class = model_named(model)
    parameters = parameters_of(given)
    names = [n.strip() for n in memories.split(",")] if memories else [None]
    costs, purposes = [], []
    for name in names:
        own = parameters if name is None else parameters | {"memory": name}
        with counted_to(f"Pilots of {name}" if name else "Pilots") as progress:
            told = forecast(
                model_class,
                own,
                llm=list(models) or ["openai/gpt-5-mini"],
                steps=steps,
                runs=seeds,
                agents=agents,
                progress=progress,
            )
        named = {} if name is None else {"memory": name}
        costs += [named | row for row in told.costs(as_records=True)]
        purposes += [named | row for row in told.purposes(as_records=True)]
    if not output.as_json:
        costs = [shown(row) for row in costs]
        purposes = [row | {"calls": round(row["calls"])} for row in purposes]
    titles = "Requests by purpose", "Estimated cost (range of two pilots)"
    output.table("purposes", titles[0], columns_of(PURPOSES, purposes), purposes)
    output.table("costs", titles[1], columns_of(COSTS, costs), costs)
    if not output.as_json and any(row["cost"] == "unknown" for row in costs):
        say("A cost is unknown if litellm's price list does not have the model.")


def columns_of(names: Iterable[str], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The columns in which any row has something."""
    return [n for n in names if any(row.get(n) not in (None, "") for row in rows)]


def shown(row: dict[str, Any]) -> dict[str, Any]:
    """A row of costs for people."""
    costs = ("cost", "cost_low", "cost_high")
    return row | {n: dollars(row[n]) for n in costs if n in row}


def model_named(name: str) -> Callable[..., Any]:
    """An example's model, or the class of ``module:class``.

    Raises:
        ValueError: if it does not exist.
    """
    where = MODELS.get(name, name)
    if ":" not in where:
        raise ValueError(
            f"no example {name!r}: choose from {', '.join(MODELS)}, or give "
            "a class of your own as module:class"
        )
    options.importable(Path())
    try:
        found = pkgutil.resolve_name(where)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{where!r} cannot be loaded: {error}") from error
    if not callable(found):
        raise ValueError(f"{name!r} is {found!r}, not a class or function")
    return found


def parameters_of(given: tuple[str, ...]) -> dict[str, Any]:
    """``name=value`` as arguments; a value that is not a Python literal is text.

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
