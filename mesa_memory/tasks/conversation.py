"""An agent's memory of a conversation that is over, in its own words.

Each participant is asked for itself, with what it said and heard and nothing else, so
two of them remember the same conversation differently. Offline the summary is made of
the most important things that were said, word for word.
"""

from typing import Any

from mesa_memory.core.render import shorten
from mesa_memory.tasks.base import Inputs, Task, by_step
from mesa_memory.tasks.consolidate import (
    Summary,
    check,
    most_important,
    sentence,
    word_limit,
)

#: begins the lines of what the agent said itself
OWN_PREFIX = "You say: "
#: things said that a summary tells if there is no model
SUMMARY_LINES = 2


def values(inputs: Inputs) -> dict[str, Any]:
    """The values of the prompt: ``others``, ``events``, ``words``."""
    return {
        "others": inputs["others"],
        "events": by_step(inputs["lines"]),
        "words": word_limit(inputs["max_chars"]),
    }


def offline(inputs: Inputs) -> dict[str, Any]:
    """The participants, and the most important lines, oldest first."""
    lines = [line for _, line in inputs["lines"]]
    room = max(20, inputs["max_chars"] // (SUMMARY_LINES + 1) - 40)
    told = [
        _told(shorten(lines[n], room)) for n in most_important(lines, SUMMARY_LINES)
    ]
    text = " ".join([f"I talked with {shorten(inputs['others'], room)}.", *told])
    return {"summary": text[: inputs["max_chars"]]}


def _told(line: str) -> str:
    """A line of speech in the past tense."""
    if line.startswith(OWN_PREFIX):
        return sentence(f"I said: {line.removeprefix(OWN_PREFIX)}")
    return sentence(line.replace(" says: ", " said: ", 1))


#: inputs: ``me`` and ``others`` as texts name them; ``lines`` (step, line) of what was
#: said, oldest first; ``max_chars`` of the summary
CONVERSATION = Task(
    "conversation", Summary, values=values, check=check, offline=offline
)
