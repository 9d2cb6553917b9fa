"""A run of the rumour's town in words and tables, for a terminal."""

from typing import TYPE_CHECKING, Any

from mesa_memory.cli.output import Output, dollars

if TYPE_CHECKING:
    from mesa_memory.examples.rumor.model import RumorModel

BELIEFS = {"rumour": "the rumour", "correction": "the correction", None: "neither"}
#: agents of each belief, and steps, in the tables
SHOWN_AGENTS, SHOWN_STEPS = 2, 5
#: headings of the counts of people
_PEOPLE = {
    "knows_rumour": "rumour\nknown", "believes_rumour": "rumour\nbelieved",
    "knows_correction": "correction\nknown", "believes_correction": "correction\nbelieved",
}  # fmt: skip
_COSTS = (
    "purpose", "calls", "attempts", "prompt_tokens", "completion_tokens", "cost",
)  # fmt: skip


def show(model: "RumorModel", output: Output) -> None:
    """Prints knowledge and beliefs, one memory in full, and the cost."""
    from mesa_memory import Services

    title = f"How many people, of {len(model.agents)}"
    output.table("counts", title, ("step", *_PEOPLE.values()), _counts(model))
    agents = shown_agents(model)
    title = f"What some of them believe at step {model.steps}, and why"
    opinions = [_opinion(model, agent) for agent in agents]
    output.table("opinions", title, list(opinions[0]), opinions)
    someone = agents[0]
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


def _opinion(model: "RumorModel", agent: Any) -> dict[str, Any]:
    """The belief of an agent, with the line of memory behind it."""
    opinion = model.opinions[agent.unique_id]
    mine, grounds = opinion.belief, opinion.grounds
    told = f"{opinion.tellers(mine)} people" if mine else ""
    others = sum(opinion.tellers(what) for what in BELIEFS if what and what != mine)
    against = f", against {others}" if mine and others else ""
    step = f"Step {grounds.step:g}: " if grounds and grounds.step else ""
    return {
        "agent": agent.unique_id,
        "believes": BELIEFS[mine],
        "as told by": told + against,
        "newest line of it": step + grounds.words if grounds else "",
    }


def shown_agents(model: "RumorModel") -> list[Any]:
    """The first few agents of each belief, those who believe something first."""
    beliefs = {a: model.opinions[a.unique_id].belief for a in model.agents}
    return [
        agent
        for belief in BELIEFS
        for agent in [a for a in beliefs if beliefs[a] == belief][:SHOWN_AGENTS]
    ]
