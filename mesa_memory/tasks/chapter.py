"""A recap of a chapter, and the judgement whether the chapter is complete.

A recap is written once and never again. Where a model is to judge, it is asked for both
in one request. Offline the recap is made of the most important events, word for word.
"""

from typing import Any

from pydantic import BaseModel, field_validator

from mesa_memory.core.render import at_step, shorten
from mesa_memory.core.text.replies import check_text
from mesa_memory.tasks.base import Inputs, Task, by_step, vocabulary_of, wording_of
from mesa_memory.tasks.consolidate import most_important, sentence, word_limit
from mesa_memory.tasks.grounding import check_summary

#: events that a recap tells if there is no model
SUMMARY_EVENTS = 3
#: events after which a chapter is complete if there is no model
COMPLETE = 12

_NOTHING = ("", "none", "null", "n/a", "-")


class Recap(BaseModel):
    """A recap of a chapter."""

    summary: str


class Judged(BaseModel):
    """A decision on a chapter: complete with its recap, or not yet."""

    complete: bool
    recap: str | None = None

    @field_validator("recap", mode="before")
    @classmethod
    def _none_if_empty(cls, recap: Any) -> Any:
        """Models write nothing in different ways."""
        empty = isinstance(recap, str) and recap.strip().lower() in _NOTHING
        return None if empty else recap


def schema(inputs: Inputs) -> type[BaseModel]:
    """The recap alone, or with the judgement."""
    return Judged if inputs["judge"] else Recap


def values(inputs: Inputs) -> dict[str, Any]:
    """The values of the prompt."""
    return {
        "story": inputs["story"],
        "number": inputs["number"],
        "judge": inputs["judge"],
        "events": by_step(inputs["lines"], wording_of(inputs)),
        "words": word_limit(inputs),
    }


def check(reply: Any, inputs: Inputs) -> str | None:
    """The recap; None if the chapter is not complete.

    Raises:
        Unusable: if the recap is empty, too long, a greeting, a refusal or an error.
    """
    if isinstance(reply, Judged) and not reply.complete:
        return None
    recap = (reply.recap or "") if isinstance(reply, Judged) else reply.summary
    check_text("recap", recap, inputs["max_chars"])
    check_summary(recap, inputs)
    return recap


def offline(inputs: Inputs) -> dict[str, Any]:
    """The most important events, oldest first; complete once there are enough."""
    lines = inputs["lines"]
    if inputs["judge"] and len(lines) < COMPLETE:
        return {"complete": False, "recap": None}
    room = max(20, inputs["max_chars"] // SUMMARY_EVENTS - 40)
    best = most_important(
        [line for _, line in lines], SUMMARY_EVENTS, vocabulary_of(inputs)
    )
    wording = wording_of(inputs)
    told = [shorten(at_step(lines[n][0], lines[n][1], wording), room) for n in best]
    recap = " ".join(map(sentence, told))[: inputs["max_chars"]]
    return {"complete": True, "recap": recap} if inputs["judge"] else {"summary": recap}


#: inputs: ``number`` of the chapter; ``story`` so far; ``lines`` (step, line) of its
#: events; ``judge`` whether it is complete; ``max_chars`` of the recap
CHAPTER = Task("chapter", schema, values=values, check=check, offline=offline)
