"""One agent in one step: events, thoughts, conclusions and actions."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from mesa_memory.core.content import shorten
from mesa_memory.core.records import DERIVED
from mesa_memory.core.render import says_nothing
from mesa_memory.runs import Run
from mesa_memory.viz.data import agent as memories
from mesa_memory.viz.data import recall as recalling
from mesa_memory.viz.data.agent import Past, Row, text_of

#: number of thoughts that are shown
MAX_THOUGHTS = 3
#: longest of them, in characters
THOUGHT_CHARS = 240
#: kinds of events that the agent itself did
OWN_KINDS = ("action", "plan", "plan_execution")
#: reasons in words, by the part of the score
WHY = {
    "relevance": "it is about the same",
    "importance": "it matters",
    "recency": "it is recent",
    "time_match": "it is of the time asked for",
}


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
        query: the text of the recall; None without one.
        ranked: whether a recall ranked them; else the memory was shown as it was.
    """

    thoughts: list[Thought]
    count: int
    query: str | None
    ranked: bool


def heard(past: Past, steps: list[float], step: float, agent: Any) -> list[Row]:
    """The events of a step that reached an agent, in order."""
    return [row for row in _events(past, steps, step) if not _is_own(row, agent)]


def done(past: Past, steps: list[float], step: float, agent: Any) -> list[Row]:
    """The events of a step that the agent itself did, in order."""
    return [row for row in _events(past, steps, step) if _is_own(row, agent)]


def ended(past: Past, steps: list[float], step: float) -> dict[str, int]:
    """Number of records that ended in a step, by reason."""
    rows = past.closed(memories.previous(steps, step), step)
    return Counter(row["closed_because"] or "ended" for row in rows)


def made(past: Past, steps: list[float], step: float) -> list[Row]:
    """The records that the memory itself made in a step, in order."""
    since = memories.previous(steps, step)
    return [row for row in past.opened(since, step) if row["origin"] == DERIVED]


def mind(run: Run, agent: Any, step: float, past: Past) -> Mind:
    """The records that came to an agent's mind in a step, by a recall for a prompt.

    A memory that does not rank was shown as it was; then its newest lines stand here.
    """
    rows = recalling.recalls(run, agent, step)
    return _ranked(rows, past) or _shown(run, agent, step)


def _ranked(rows: list[Row], past: Past) -> Mind | None:
    """The first of the recalls of a step that found something."""
    for row in [row for row in rows if row["purpose"] == "prompt"] or rows:
        recall = recalling.understood(row, past)
        if recall.candidates:
            best = recall.candidates[:MAX_THOUGHTS]
            thoughts = [
                Thought(shorten(c.text, THOUGHT_CHARS), reason(recall, c), c.shown)
                for c in best
            ]
            return Mind(thoughts, len(recall.candidates), recall.query, ranked=True)
    return None


def reason(
    recall: recalling.RecordedRecall, candidate: recalling.RecallCandidate
) -> str:
    """The parts of a record's score in words, the greatest first."""
    parts = sorted(recall.weighted(candidate), key=lambda part: -part[1])
    told = [
        f"{WHY.get(name, name)} ({name} {value:.2f})" for name, value in parts if value
    ]
    if not told:
        return f"score {candidate.score:.2f}"
    return f"because {', '.join(told)}"


def _shown(run: Run, agent: Any, step: float) -> Mind:
    """The newest lines of the memory in the agent's prompts."""
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
    room = MAX_THOUGHTS - bool(others)
    best = [*events[:room], *others][:MAX_THOUGHTS]
    return Mind(best, len(found), None, ranked=False)


def _is_frame(line: str) -> bool:
    """True for a heading, an empty line, or a line that says the memory is empty."""
    heads = line.endswith(":") and len(line) < 60
    return not line or heads or says_nothing(line.removeprefix("- "))


def _events(past: Past, steps: list[float], step: float) -> list[Row]:
    since = memories.previous(steps, step)
    return [row for row in past.opened(since, step) if row["origin"] != DERIVED]


def _is_own(row: Row, agent: Any) -> bool:
    if row["kind"] == "message":
        return str(row["content"].get("sender")) == str(agent)
    return row["kind"] in OWN_KINDS


def told(row: Row, agent: Any) -> str:
    """The text of an event; of the agent's own message its words alone."""
    if _is_own(row, agent) and "message" in row["content"]:
        return str(row["content"]["message"])
    return text_of(row)
