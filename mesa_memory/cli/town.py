"""A run of the rumour's town in words and tables, for a terminal."""

from typing import TYPE_CHECKING, Any

from mesa_memory.cli.output import Output
from mesa_memory.core.content import dollars

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
        {"purpose": purpose, "calls": usage.calls, "attempts": usage.attempts}
        | {"prompt_tokens": usage.prompt_tokens, "cost": dollars(usage.cost)}
        | {"completion_tokens": usage.completion_tokens}
        for purpose, usage in (used | {"total": ledger.total}).items()
    ]
    output.table("cost", "What it cost", _COSTS, rows)


def _counts(model: "RumorModel") -> Any:
    """The number of people who know and believe each story, at a few steps."""
    parts = {round(i * model.steps / SHOWN_STEPS) for i in range(1, SHOWN_STEPS + 1)}
    counts = model.datacollector.get_model_vars_dataframe().rename_axis("step")
    shown = counts.loc[sorted({1, *parts} - {0})].rename(columns=_PEOPLE)
    return shown.reset_index().to_dict("records")
