"""A recap of a chapter, which is written once and never again.

Offline the recap is made of the most important events, word for word.
"""

from typing import Any

from pydantic import BaseModel

from mesa_memory.core.render import at_step, shorten
from mesa_memory.core.text.replies import check_text
from mesa_memory.tasks.base import Inputs, Task, by_step, vocabulary_of, wording_of
from mesa_memory.tasks.consolidate import most_important, sentence, word_limit
from mesa_memory.tasks.grounding import check_summary

#: events that a recap tells if there is no model
SUMMARY_EVENTS = 3


class Recap(BaseModel):
    """A recap of a chapter."""

    summary: str


def values(inputs: Inputs) -> dict[str, Any]:
    """The values of the prompt."""
    return {
        "story": inputs["story"],
        "number": inputs["number"],
        "events": by_step(inputs["lines"], wording_of(inputs)),
        "words": word_limit(inputs),
    }


def check(reply: Recap, inputs: Inputs) -> str:
    """The recap.

    Raises:
        Unusable: if the recap is empty, too long, a greeting, a refusal or an error.
    """
    check_text("recap", reply.summary, inputs["max_chars"])
    check_summary(reply.summary, inputs)
    return reply.summary


def offline(inputs: Inputs) -> dict[str, Any]:
    """The most important events, oldest first."""
    lines = inputs["lines"]
    room = max(20, inputs["max_chars"] // SUMMARY_EVENTS - 40)
    best = most_important(
        [line for _, line in lines], SUMMARY_EVENTS, vocabulary_of(inputs)
    )
    wording = wording_of(inputs)
    told = [shorten(at_step(lines[n][0], lines[n][1], wording), room) for n in best]
    return {"summary": " ".join(map(sentence, told))[: inputs["max_chars"]]}


#: inputs: ``number`` of the chapter; ``story`` so far; ``lines`` (step, line) of its
#: events; ``max_chars`` of the recap
CHAPTER = Task("chapter", Recap, values=values, check=check, offline=offline)
