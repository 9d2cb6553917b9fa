"""A recap of a chapter, and the judgement whether the chapter is complete.

A recap is written once and never again. Where a model is to judge, it is asked for both
in one request. Offline the recap is made of the most important events, word for word.
"""

from typing import Any

from pydantic import BaseModel, Field, field_validator

from mesa_memory.core.render import shorten
from mesa_memory.core.text.replies import check_text
from mesa_memory.tasks.base import Inputs, Task, by_step
from mesa_memory.tasks.consolidate import WORD_CHARS, most_important, sentence
from mesa_memory.tasks.grounding import check_summary

#: events that a recap tells if there is no model
SUMMARY_EVENTS = 3
#: events after which a chapter is complete if there is no model
COMPLETE = 12

_NOTHING = ("", "none", "null", "n/a", "-")


class Recap(BaseModel):
    """A recap of a chapter."""

    summary: str = Field(description="The recap, 2 to 3 sentences, plain text")


class Judged(BaseModel):
    """A decision on a chapter: complete with its recap, or not yet."""

    complete: bool = Field(description="true if the chapter is complete")
    recap: str | None = Field(None, description="The recap, 2 to 3 sentences, or null")

    @field_validator("recap", mode="before")
    @classmethod
    def _none_if_empty(cls, recap: Any) -> Any:
        """Models write nothing in different ways."""
        empty = isinstance(recap, str) and recap.strip().lower() in _NOTHING
        return None if empty else recap


def schema(inputs: Inputs) -> type[BaseModel]:
    """The recap alone, or with the judgement."""
    return Judged if inputs["judge"] else Recap


def prompt(inputs: Inputs) -> str:
    """Asks for the recap of ``lines`` (step, line; oldest first), after ``story``."""
    size = f"2 to 3 sentences, at most {inputs['max_chars'] // WORD_CHARS} words"
    if inputs["judge"]:
        asked = (
            "Is this chapter complete: is what it is about settled, or has something "
            f"else begun? If it is, write its recap, in {size}. "
            'Reply with JSON only: {"complete": true, "recap": "…"} or '
            '{"complete": false, "recap": null}'
        )
    else:
        asked = (
            f"The summary of this chapter, in {size}. "
            'Reply with JSON only: {"summary": "…"}'
        )
    return (
        f"The story before and until now:\n- {inputs['story'] or '(it begins here)'}\n\n"
        f"What happened in chapter {inputs['number']}, oldest first:\n"
        f"{by_step(inputs['lines'])}\n\n{asked}"
    )


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
    best = most_important([line for _, line in lines], SUMMARY_EVENTS)
    told = [shorten(f"Step {lines[n][0]}: {lines[n][1]}", room) for n in best]
    recap = " ".join(map(sentence, told))[: inputs["max_chars"]]
    return {"complete": True, "recap": recap} if inputs["judge"] else {"summary": recap}


#: inputs: ``number`` of the chapter; ``story`` so far; ``lines`` (step, line) of its
#: events; ``judge`` whether it is complete; ``max_chars`` of the recap
CHAPTER = Task(
    "chapter",
    schema,
    system=(
        "You write the recap of one chapter in the life of one agent in a simulation. "
        "It is kept as it is for ever. Tell what happened in the chapter and what came "
        "of it; the story before it is there so that you understand it. Keep names, "
        "numbers, places, promises and who said what. Write plain text, no headings."
    ),
    prompt=prompt,
    check=check,
    offline=offline,
)
