"""One agent in one step: events, thoughts, conclusions and actions."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from mesa_memory.core.content import shorten
from mesa_memory.core.records import DERIVED
from mesa_memory.runs import Run
from mesa_memory.runs.past import Past, Row, text_of
from mesa_memory.viz.data import agent as memories
from mesa_memory.viz.data import recall as recalling

#: number of thoughts that are shown
MAX_THOUGHTS = 3
#: longest of them, in characters
THOUGHT_CHARS = 240
#: kinds of events that the agent itself did
OWN_KINDS = ("action", "plan", "plan_execution")


@dataclass(frozen=True)
class Thought:
    """A record that came to mind.

    Attributes:
        text: the record, shortened.
        reason: the parts of its score, or its layer.
        shown: False if the prompt's budget left no room for it.
    """

    text: str
    reason: str
    shown: bool = True


@dataclass(frozen=True)
class Mind:
    """The records that came to an agent's mind in a step.

    Attributes:
        thoughts: the best ones.
        count: number of all of them.
        ranked: whether a recall ranked them; else the memory was shown as it was.
        read: whether the agent was shown its memory in the step.
    """

    thoughts: list[Thought]
    count: int
    ranked: bool
    read: bool


@dataclass(frozen=True)
class AgentStep:
    """The changes of a memory in a step, each in order.

    Attributes:
        heard: the events that reached the agent.
        done: the events that the agent itself did.
        made: the records that the memory itself made.
        ended: number of records that ended, by reason.
    """

    heard: list[Row]
    done: list[Row]
    made: list[Row]
    ended: dict[str, int]


def agent_step(past: Past, agent: Any, after: float, step: float) -> AgentStep:
    """The changes of an agent's memory in a step.

    Args:
        after: the finished step before.
    """
    opened, closed = past.opened(after, step), past.closed(after, step)
    events = [row for row in opened if row["origin"] != DERIVED]
    return AgentStep(
        [row for row in events if not _is_own(row, agent)],
        [row for row in events if _is_own(row, agent)],
        [row for row in opened if row["origin"] == DERIVED],
        Counter(row["closed_because"] or "ended" for row in closed),
    )


def mind(run: Run, agent: Any, after: float, step: float, past: Past) -> Mind:
    """The records that came to an agent's mind in a step, by a recall for a prompt.

    A memory that does not rank was shown as it was; then the newest of the records
    whose words the agent was shown stand here.
    """
    rows = recalling.recalls(run, agent, step)
    for row in [row for row in rows if row["purpose"] == "prompt"] or rows:
        recall = recalling.understood(row, past)
        if recall.candidates:
            thoughts = [
                Thought(
                    shorten(one.text, THOUGHT_CHARS),
                    recalling.reason(recall, one, times),
                    one.shown,
                )
                for one, times in recalling.best(recall, MAX_THOUGHTS)
            ]
            return Mind(thoughts, len(recall.candidates), ranked=True, read=True)
    shown = memories.shown(run, agent, step)
    texts = _bare(row["text"] or "" for row in shown)
    held = {
        text: row["layer"]
        for row in reversed(past.rows)
        if row["valid_from"] <= step
        and (row["valid_to"] is None or row["valid_to"] > after)
        and (text := _bare([text_of(row)]))
        and text in texts
    }
    thoughts = [
        Thought(shorten(text, THOUGHT_CHARS), f"in its {layer} memory")
        for text, layer in islice(held.items(), MAX_THOUGHTS)
    ]
    return Mind(thoughts, len(held), ranked=False, read=bool(rows or shown))


def _bare(texts: Iterable[str]) -> str:
    """Texts without line breaks."""
    return " ".join(" ".join(texts).split())


def _is_own(row: Row, agent: Any) -> bool:
    if row["kind"] == "message":
        return str(row["content"].get("sender")) == str(agent)
    return row["kind"] in OWN_KINDS
