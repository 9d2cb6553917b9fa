"""A run of the town in words and tables, for a terminal."""

from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mesa_memory import Services
from mesa_memory.examples.rumor.hearsay import SAYINGS
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.llm import Usage

BELIEFS = {"rumour": "the rumour", "correction": "the correction", None: "neither"}
#: agents of each belief, and steps, in the tables
SHOWN_AGENTS, SHOWN_STEPS = 2, 5

_QUESTIONS = {
    "knows_rumour": "know the rumour",
    "believes_rumour": "believe it",
    "knows_correction": "know the correction",
    "believes_correction": "believe it",
}
_PAST = {"knows": "known", "believes": "believed"}


def show(model: RumorModel, seconds: float, console: Console) -> None:
    """Prints knowledge and beliefs, one memory in full, and the cost."""
    console.print(over_time(model))
    console.print()
    console.print(some_agents(model))
    someone = shown_agents(model)[0]
    console.print()
    console.rule(f"All that agent {someone.unique_id} remembers at step {model.steps}")
    # Not wrapped, so that one event stays one line also in a file.
    console.print(Text(someone.memory.get_prompt_ready()), soft_wrap=True)
    console.print()
    console.print(cost(model))
    console.print(f"Wall time: {seconds:.1f} s.")


def over_time(model: RumorModel) -> Table:
    """The number of people who know and believe each story, at a few steps."""
    table = Table(title=f"How many people, of {len(model.agents)}")
    table.add_column("step", justify="right")
    for question in _QUESTIONS.values():
        table.add_column(question, justify="right")
    counts = model.datacollector.get_model_vars_dataframe()
    parts = {round(i * model.steps / SHOWN_STEPS) for i in range(1, SHOWN_STEPS + 1)}
    for step in sorted({1, *parts} - {0}):
        row = counts.loc[step, list(_QUESTIONS)]
        table.add_row(str(step), *(str(int(count)) for count in row))
    return table


def some_agents(model: RumorModel) -> Table:
    """The beliefs of some agents, each with the line of memory behind it."""
    table = Table(title=f"What some of them believe at step {model.steps}, and why")
    for heading in (
        "agent",
        "believes",
        "as told by",
        "newest line it remembers of it",
    ):
        table.add_column(heading)
    for agent in shown_agents(model):
        opinion = model.opinions[agent.unique_id]
        mine, grounds = opinion.belief, opinion.grounds
        told = f"{opinion.tellers(mine)} people" if mine else ""
        others = sum(opinion.tellers(what) for what in SAYINGS if what != mine)
        against = f", against {others}" if mine and others else ""
        step = f"Step {grounds.step:g}: " if grounds and grounds.step else ""
        words = Text(step + grounds.words if grounds else "")
        table.add_row(str(agent.unique_id), BELIEFS[mine], told + against, words)
    return table


def shown_agents(model: RumorModel) -> list[Any]:
    """The first few agents of each belief, those who believe something first."""
    shown: list[Any] = []
    for belief in BELIEFS:
        of_one_mind = [
            a for a in model.agents if model.opinions[a.unique_id].belief == belief
        ]
        shown += of_one_mind[:SHOWN_AGENTS]
    return shown


def cost(model: RumorModel) -> Table:
    """Calls, tokens and cost by purpose."""
    ledger = Services.of(model).ledger
    table = Table(title="What it cost")
    table.add_column("purpose")
    for heading in ("calls", "attempts", "tokens in", "tokens out", "US dollars"):
        table.add_column(heading, justify="right")
    for (purpose,), used in ledger.by("purpose").items():
        table.add_row(purpose, *_usage(used))
    table.add_section()
    table.add_row("total", *_usage(ledger.total))
    return table


def _usage(used: Usage) -> list[str]:
    counts = (used.calls, used.attempts, used.prompt_tokens, used.completion_tokens)
    return [*(f"{count:,}" for count in counts), dollars(used.cost)]


def dollars(amount: float | None) -> str:
    """An amount of money; unknown (None or NaN) is not zero."""
    return "unknown" if amount is None or pd.isna(amount) else f"{amount:.4f}"


def comparison(means: pd.DataFrame, n_agents: int) -> Table:
    """The end of a batch: one row for each memory."""
    title = "Per cent of the town at the last step, mean over seeds"
    # Without lines, eight columns fit into the 80 characters of a file or pipe.
    table = Table(title=title, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("memory", no_wrap=True)
    for column in _QUESTIONS:
        verb, _, story = column.partition("_")
        table.add_column(f"{story}\n{_PAST[verb]}", justify="right")
    for heading in ("calls", "tokens", "US $"):
        table.add_column(heading, justify="right", vertical="bottom")
    for memory, row in means.iterrows():
        shares = (f"{100 * row[column] / n_agents:.0f}" for column in _QUESTIONS)
        counts = (f"{row['calls']:,.0f}", f"{row['tokens'] / 1000:,.0f} k")
        table.add_row(str(memory), *shares, *counts, dollars(row["cost"]))
    return table
