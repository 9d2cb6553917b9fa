"""The pages that the memory of an agent has."""

from typing import Any

from sqlalchemy import select

from mesa_memory.layers.facts.statement import KIND as FACT
from mesa_memory.runs import Run
from mesa_memory.stores import schema
from mesa_memory.viz.data.agent import Past
from mesa_memory.viz.data.contents import chapters

records, agents, prompts = schema.records, schema.agents, schema.prompts
#: page -> the kinds of records that it shows, in the order in which pages are offered
KINDS = {
    "story": (chapters.STORY, chapters.CHAPTER),
    "facts": (FACT,),
    "conversations": ("message", "conversation"),
}


def contents(past: Past, budget: bool) -> list[str]:
    """The pages that an agent's memory has, the most telling one first.

    Args:
        budget: its prompts have a budget.
    """
    kinds = {row["kind"] for row in past.rows}
    found = [page for page, known in KINDS.items() if kinds.intersection(known)]
    return [*found, *["budget"] * budget]


def has_budget(run: Run, agent: Any) -> bool:
    """True if the budget of a prompt of an agent was recorded."""
    own = (prompts.c.run == run.id, prompts.c.agent == run.name_of(agent))
    wanted = select(prompts.c.seq).where(*own, prompts.c.budget.is_not(None))
    return bool(run.rows(wanted.limit(1)))


def who_has(run: Run, page: str) -> Any:
    """The first agent whose memory has a page, or None."""
    for name, agent in run.unique_ids.items():
        if page == "budget":
            if has_budget(run, agent):
                return agent
            continue
        own = (records.c.run == run.id, records.c.agent == name)
        wanted = select(records.c.seq).where(*own, records.c.kind.in_(KINDS[page]))
        if run.rows(wanted.limit(1)):
            return agent
    return None
