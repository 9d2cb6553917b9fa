"""A running summary, or a story, takes up what has happened since.

Offline it is made of the most important events, word for word.
"""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from mesa_memory.core.render import at_step, shorten
from mesa_memory.core.text.vocabulary import ENGLISH_WORDS, Vocabulary
from mesa_memory.tasks.base import Inputs, Task, by_step, vocabulary_of, wording_of
from mesa_memory.tasks.grade import offline_grade
from mesa_memory.tasks.grounding import Terms, check_summary
from mesa_memory.tasks.offline.remembered import once

#: separates the remembered events in an extractive summary
BULLET = " • "
#: longest extractive summary
SUMMARY_CHARS = 1500
#: longest event in it
EVENT_CHARS = 240


class Summary(BaseModel):
    """A running summary of events."""

    summary: str

    @classmethod
    def from_text(cls, text: str) -> "Summary":
        """A summary is text anyway; many models send it bare, and it is good."""
        return cls(summary=text)


def values(inputs: Inputs) -> dict[str, Any]:
    """The values of the prompt: ``events``, ``summary``, ``words``, ``stale``."""
    return {
        "summary": inputs["summary"],
        "stale": bool(inputs.get("stale")),
        "events": by_step(inputs["lines"], wording_of(inputs)),
        "words": word_limit(inputs),
    }


def word_limit(inputs: Inputs) -> int:
    """The words, as models of the language count them, that fit ``max_chars``.

    A round number: of at least 100 a multiple of 50, else of 10 where there are as many.
    """
    word_chars = float(wording_of(inputs)("common", "word chars"))
    most = max(1, int(inputs["max_chars"] / word_chars))
    unit = 50 if most >= 100 else 10 if most >= 10 else 1
    return most - most % unit


def check(reply: Summary, inputs: Inputs) -> Summary:
    """The summary as it is.

    Raises:
        Unusable: if it is a greeting, a refusal or an error.
    """
    check_summary(reply.summary, inputs)
    return reply


def offline(inputs: Inputs) -> dict[str, Any]:
    """The most important events word for word, oldest first.

    What says the same is one event, with its speakers and their number, where the newest
    stood; over the limit, the least important and oldest go first, but never the newest:
    a summary must tell something new.
    """
    previous = [item for item in inputs["summary"].split(BULLET) if item]
    new, known = told(inputs, EVENT_CHARS), vocabulary_of(inputs)
    items = once(previous, new, wording_of(inputs))
    weights = [offline_grade("", item, told=known) for item in items]
    ranked = sorted(range(len(items) - bool(new)), key=weights.__getitem__)
    kept, limit = dict(enumerate(items)), min(SUMMARY_CHARS, inputs["max_chars"])
    size = sum(map(len, items)) + len(items) * len(BULLET)
    for place in ranked if new else ranked[:-1]:
        if size > limit:
            size -= len(kept.pop(place)) + len(BULLET)
    return {"summary": BULLET.join(kept.values())[: inputs["max_chars"]]}


def told(inputs: Inputs, chars: int) -> list[str]:
    """The events with their steps, each cut to a number of characters."""
    wording = wording_of(inputs)
    return [
        at_step(step, shorten(line.replace(BULLET, " · "), chars), wording)
        for step, line in inputs["lines"]
    ]


#: inputs: ``summary`` so far, ``lines`` (step, line) and ``max_chars``; ``stale`` if
#: something that the summary rests on does not hold any more
CONSOLIDATE = Task("consolidate", Summary, values=values, check=check, offline=offline)


#: the story has fewer sentences
STORY_SENTENCES = 5


def story_values(inputs: Inputs) -> dict[str, Any]:
    """``values``, and the ``sentences`` that the story stays below."""
    return values(inputs) | {"sentences": STORY_SENTENCES}


def story_offline(inputs: Inputs) -> dict[str, Any]:
    """The most important of the earlier parts, and of the new events, oldest first."""
    most = STORY_SENTENCES - 1
    room = max(20, inputs["max_chars"] // most - 40)
    old = [part for part in inputs["summary"].split(BULLET) if part]
    new = [shorten(item, room) for item in told(inputs, room)]
    words = vocabulary_of(inputs)
    chosen = [new[n] for n in most_important(new, most // 2, words)]
    kept = [old[n] for n in most_important(old, most - len(chosen), words)]
    return {"summary": BULLET.join([*kept, *chosen])[: inputs["max_chars"]]}


#: inputs: ``summary`` so far, ``lines`` (step, line) and ``max_chars``; ``stale`` if
#: something that the summary rests on does not hold any more
STORY = Task("story", Summary, values=story_values, check=check, offline=story_offline)


def most_important(
    lines: Sequence[str], count: int, told: Vocabulary = ENGLISH_WORDS
) -> list[int]:
    """Positions of the lines that matter most, oldest first.

    Of lines that say the same only the last counts; of equally important ones the later
    comes first. Lines that say nothing, such as a greeting, come last.
    """
    last = {line: position for position, line in enumerate(lines)}

    def rank(position: int) -> tuple[bool, int, int]:
        line = lines[position]
        return not Terms.of(line).words, -offline_grade("", line, told=told), -position

    return sorted(sorted(last.values(), key=rank)[:count])


def sentence(text: str) -> str:
    """A text that ends like a sentence."""
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."
