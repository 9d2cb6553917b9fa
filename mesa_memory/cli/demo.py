"""A town in which a rumour spreads, in the browser or in words."""

import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import mesa_memory.cli.output as options
from mesa_memory.cli.output import Output, flag, option, say, say_loading
from mesa_memory.core.content import dollars
from mesa_memory.examples.rumor import MEMORIES, MORE_MEMORIES

if TYPE_CHECKING:
    from mesa_memory.examples.rumor.model import RumorModel


#: steps in the table of people
SHOWN_STEPS = 5
#: headings of the counts of people
_PEOPLE = {
    "knows_rumour": "rumour\nknown", "believes_rumour": "rumour\nbelieved",
    "knows_correction": "correction\nknown", "believes_correction": "correction\nbelieved",
}  # fmt: skip
_COSTS = (
    "purpose", "calls", "attempts", "prompt_tokens", "completion_tokens", "cost",
)  # fmt: skip


def show(model: "RumorModel", output: Output) -> None:
    """Prints how many know and believe the stories, one memory in full, and the cost."""
    from mesa_memory import Services

    title = f"How many people, of {len(model.agents)}"
    output.table("counts", title, ("step", *_PEOPLE.values()), _counts(model))
    people: list[Any] = list(model.agents)
    # Someone who believes a story, if there is anyone.
    someone = max(people, key=lambda agent: agent.belief is not None)
    heading = f"All that agent {someone.unique_id} remembers at step {model.steps}:"
    output.text("memory", heading, someone.memory.get_prompt_ready())
    ledger = Services.of(model).ledger
    used = {name: u for (name,), u in ledger.by("purpose").items()}
    rows = [
        asdict(usage) | {"purpose": purpose, "cost": dollars(usage.cost)}
        for purpose, usage in (used | {"total": ledger.total}).items()
    ]
    output.table("cost", "What it cost", _COSTS, rows)


def _counts(model: "RumorModel") -> Any:
    """The number of people who know and believe each story, at a few steps."""
    parts = {round(i * model.steps / SHOWN_STEPS) for i in range(1, SHOWN_STEPS + 1)}
    counts = model.datacollector.get_model_vars_dataframe().rename_axis("step")
    shown = counts.loc[sorted({1, *parts} - {0})].rename(columns=_PEOPLE)
    return shown.reset_index().to_dict("records")


INTRODUCTION = (
    "Plays {steps} days in a town of {agents} people, through which a rumour and its "
    "correction spread; then {then}."
)


@click.command()
@option(
    "--memory",
    f"Everyone's memory: {', '.join(MEMORIES + MORE_MEMORIES)}, a memory of an installed package, "
    "or a class of your own.",
    "episodic",
)
@options.agents
@options.steps(25, "Days simulated first; the page has buttons to continue.")
@option(
    "--seed",
    "The same seed gives the same town and the same meetings.",
    42,
    click.IntRange(min=0),
)
@options.llm
@options.api_base
@option(
    "--record",
    "Write the run into a store, to inspect, resume or replay it.",
    metavar="FILE|URL",
)
@flag(
    "--headless",
    "Print a report instead: how many know the news, one memory, the cost.",
)
@options.served
def demo(
    headless: bool, host: str, port: int, open_page: bool, steps: int, **town: Any
) -> None:
    """Plays a town in which a rumour spreads, and shows it in the browser.

    The page has every view of the dashboard, and buttons to play on.
    """
    then = "prints who remembers what" if headless else "shows it in the browser"
    say_loading()
    say(INTRODUCTION.format(agents=town["agents"], steps=steps, then=then))
    if headless:
        _print(steps, **town)
    else:
        _serve(host, port, open_page, steps, **town)


def _print(steps: int, **town: Any) -> None:
    """Shows the town in words and tables."""
    from mesa_memory import close

    started = time.perf_counter()
    model = _played(steps, **town)
    seconds = time.perf_counter() - started
    close(model)
    memory, llm, seed = town["memory"], town["llm"], town["seed"]
    print(f"Memory {memory}, language model {llm}, seed {seed}.\n")
    show(model, Output())
    print(f"Wall time: {seconds:.1f} s.")


def _serve(host: str, port: int, open_page: bool, steps: int, **town: Any) -> None:
    """Shows the town in the browser."""
    from mesa_memory import close
    from mesa_memory.examples.rumor.page import parameters, town_page
    from mesa_memory.viz.serving.server import listen, serve

    place = listen(host, port)  # before days are played that may cost something
    town["record"] = town["record"] or True
    model = _played(steps, **town)
    choices = parameters(town.pop("agents"), rng=town.pop("seed"), **town)
    try:
        serve(lambda: town_page(model, choices), place, open_page)
    finally:
        close(model)


def _played(steps: int, *, agents: int, seed: int, **given: Any) -> Any:
    """The town after some days."""
    from tqdm.auto import trange

    from mesa_memory.examples.rumor.model import RumorModel

    options.importable(Path())
    model = RumorModel(agents, rng=seed, **given)
    said = "Days in town"
    for _ in trange(steps, desc=said, file=sys.stderr, leave=False, disable=None):
        model.step()
    return model
