"""Words that an empty view offers to look for."""

from collections import Counter

from sqlalchemy import select

from mesa_memory.runs import Run
from mesa_memory.stores import schema

records = schema.records
#: number of messages that are read
MAX_MESSAGES = 20_000


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
