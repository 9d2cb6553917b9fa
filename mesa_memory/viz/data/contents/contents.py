"""The pages that the memory of an agent has."""

from typing import Any

from sqlalchemy import select

from mesa_memory.layers.facts.statement import KIND as FACT
from mesa_memory.runs import Run
from mesa_memory.stores import schema
from mesa_memory.viz.data.agent import Past
from mesa_memory.viz.data.contents import chapters

records, prompts = schema.records, schema.prompts
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


def has(run: Run, agent: Any, page: str) -> bool:
    """True if a record, or the budget of a prompt, of an agent's page was recorded."""
    log, filled = records, records.c.kind.in_(KINDS.get(page, ()))
    if page == "budget":
        log, filled = prompts, prompts.c.budget.is_not(None)
    own = (log.c.run == run.id, log.c.agent == run.name_of(agent))
    return bool(run.rows(select(log.c.seq).where(*own, filled).limit(1)))


def who_has(run: Run, page: str) -> Any:
    """The first agent whose memory has a page, or None."""
    return next((a for a in run.unique_ids.values() if has(run, a, page)), None)
