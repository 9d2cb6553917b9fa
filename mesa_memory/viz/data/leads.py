"""Places with data of a kind, which an empty view offers instead."""

from collections import Counter
from typing import Any

from sqlalchemy import select

from mesa_memory.core.records import DERIVED
from mesa_memory.runs import Run
from mesa_memory.stores import schema

records, recalls = schema.records, schema.recalls
#: number of messages that are read
MAX_MESSAGES = 20_000


def first_conclusion(run: Run, agent: Any = None) -> tuple[Any, float] | None:
    """The agent and step of the first conclusion, or None.

    Args:
        run: all its steps count.
        agent: only this one.
    """
    where = [records.c.run == run.id, records.c.origin == DERIVED]
    if agent is not None:
        where.append(records.c.agent == run.name_of(agent))
    wanted = select(records.c.agent, records.c.valid_from).where(*where)
    first = wanted.order_by(records.c.valid_from, records.c.seq).limit(1)
    for row in run.records(first):
        return row["agent"], row["valid_from"]
    return None


def first_recall(run: Run) -> tuple[Any, float] | None:
    """The agent and step of the first recall, or None."""
    wanted = select(recalls.c.agent, recalls.c.step).where(recalls.c.run == run.id)
    for row in run.records(wanted.order_by(recalls.c.seq).limit(1)):
        return row["agent"], row["step"]
    return None


def widest_words(run: Run) -> str:
    """The words that most agents heard, such as a rumour; empty without a message.

    The speaker is left out. Of several, the most frequent words, then the first ones;
    of a long run the first 20,000 messages count.
    """
    heard = select(records.c.text, records.c.agent).where(
        records.c.run == run.id, records.c.kind == "message"
    )
    agents: dict[str, set[str]] = {}
    times: Counter[str] = Counter()
    for text, agent in run.rows(heard.order_by(records.c.seq).limit(MAX_MESSAGES)):
        words = (text or "").partition(" says: ")[2] or text or ""
        agents.setdefault(words, set()).add(agent)
        times[words] += 1
    return max(agents, key=lambda w: (len(agents[w]), times[w]), default="")
