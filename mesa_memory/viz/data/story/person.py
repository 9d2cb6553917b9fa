"""One agent in one step: what reached it, came to its mind, was made of it, and was said."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mesa_memory.core.content import shorten
from mesa_memory.core.records import DERIVED
from mesa_memory.core.render import says_nothing
from mesa_memory.runs import Run
from mesa_memory.viz.data import agent as memories
from mesa_memory.viz.data import recall as recalling
from mesa_memory.viz.data.agent import Past, Row, text_of

#: lines of what came to mind
THOUGHTS = 3
#: longest of them, in characters
THOUGHT_CHARS = 240
#: kinds of events that are what the agent did itself
OWN = ("action", "plan", "plan_execution")
#: why a record came to mind, by the part of its score
WHY = {
    "relevance": "it is about the same",
    "importance": "it matters",
    "recency": "it is recent",
    "time_match": "it is of the time asked for",
}


@dataclass(frozen=True)
class Thought:
    """Something that came to mind.

    Attributes:
        text: what it was.
        reason: why it came to mind.
        shown: False if the prompt's budget left no room for it.
    """

    text: str
    reason: str
    shown: bool = True


@dataclass(frozen=True)
class Mind:
    """What came to an agent's mind in a step.

    Attributes:
        thoughts: the best ones.
        count: how many there were in all.
        query: what it was about; None if nothing was asked.
        ranked: True if a recall put them in this order; False if the agent was shown
            its memory as it was.
    """

    thoughts: list[Thought]
    count: int
    query: str | None
    ranked: bool


def heard(past: Past, steps: list[float], step: float, agent: Any) -> list[Row]:
    """The events of a step that reached an agent, in order."""
    return [row for row in _events(past, steps, step) if not _is_own(row, agent)]


def done(past: Past, steps: list[float], step: float, agent: Any) -> list[Row]:
    """What an agent said and did in a step, in order."""
    return [row for row in _events(past, steps, step) if _is_own(row, agent)]


def ended(past: Past, steps: list[float], step: float) -> dict[str, int]:
    """How many records the memory let go of in a step, by why."""
    since = memories.previous(steps, step)
    rows = past.closed(since, step)
    return memories.tally(
        [{"change": row["closed_because"] or "ended"} for row in rows]
    )


def made(past: Past, steps: list[float], step: float) -> list[Row]:
    """What the memory made in a step of what it knew, in order."""
    since = memories.previous(steps, step)
    return [row for row in past.opened(since, step) if row["origin"] == DERIVED]


def mind(run: Run, agent: Any, step: float, past: Past) -> Mind:
    """What came to an agent's mind in a step, see ``minds``."""
    return minds(run, agent, [step], past)[0]


def minds(run: Run, agent: Any, steps: Sequence[float], past: Past) -> list[Mind]:
    """What came to an agent's mind in some steps: of its recalls those for a prompt.

    An agent whose memory ranks nothing was shown what it held; then the newest lines of
    that stand here.

    Args:
        steps: that follow each other; their recalls are read at once.
    """
    if not steps:
        return []
    found: dict[float, list[Row]] = {step: [] for step in steps}
    for row in recalling.recalls(run, agent, steps[0], steps[-1]):
        found.setdefault(row["step"], []).append(row)
    return [_ranked(found[step], past) or _shown(run, agent, step) for step in steps]


def _ranked(rows: list[Row], past: Past) -> Mind | None:
    """The first of the recalls of a step that found something."""
    for row in [row for row in rows if row["purpose"] == "prompt"] or rows:
        recall = recalling.understood(row, past)
        if recall.candidates:
            best = recall.candidates[:THOUGHTS]
            thoughts = [
                Thought(shorten(c.text, THOUGHT_CHARS), reason(recall, c), c.shown)
                for c in best
            ]
            return Mind(thoughts, len(recall.candidates), recall.query, ranked=True)
    return None


def reason(recall: recalling.Recall, candidate: recalling.Candidate) -> str:
    """Why a record came to mind: the parts of its score, the greatest first."""
    parts = zip(recall.names, recall.weighing(None), candidate.parts)
    weighted = [(weight * part, name) for name, weight, part in parts if weight * part]
    weighted.sort(key=lambda one: -one[0])
    if not weighted:
        return f"score {candidate.score:.2f}"
    told = [f"{WHY.get(name, name)} ({name} {value:.2f})" for value, name in weighted]
    return f"because {', '.join(told)}"


def _shown(run: Run, agent: Any, step: float) -> Mind:
    """The newest lines of the memory that the agent was shown."""
    events: list[Thought] = []
    others: list[Thought] = []
    for row in reversed(memories.shown(run, agent, step)):
        lines = [line.strip() for line in (row["text"] or "").splitlines()]
        for line in reversed([line for line in lines if not _is_frame(line)]):
            text = shorten(line.removeprefix("- "), THOUGHT_CHARS)
            if line.startswith("- "):
                events.append(
                    Thought(text, f"word for word in its {row['layer']} memory")
                )
            else:
                others.append(Thought(text, f"in its {row['layer']} memory"))
    found = [*events, *others]
    # The newest events, and what it knows of all that was before.
    room = THOUGHTS - bool(others)
    best = [*events[:room], *others][:THOUGHTS]
    return Mind(best, len(found), None, ranked=False)


def _is_frame(line: str) -> bool:
    """True for a line of a prompt in which nothing that is remembered stands."""
    heads = line.endswith(":") and len(line) < 60
    return not line or heads or says_nothing(line.removeprefix("- "))


def _events(past: Past, steps: list[float], step: float) -> list[Row]:
    since = memories.previous(steps, step)
    return [row for row in past.opened(since, step) if row["origin"] != DERIVED]


def _is_own(row: Row, agent: Any) -> bool:
    content = row["content"]
    if row["kind"] == "message" and isinstance(content, Mapping):
        return str(content.get("sender")) == str(agent)
    return row["kind"] in OWN


def told(row: Row, agent: Any) -> str:
    """An event of an agent as one reads it beside the agent's name."""
    content = row["content"]
    if _is_own(row, agent) and isinstance(content, Mapping) and "message" in content:
        return str(content["message"])
    return text_of(row)
