"""The story so far takes up what has happened since, and stays short.

Incremental summarisation: the earlier text and the events that follow it become the new
text. Offline it is made of the most important events, word for word.
"""

from typing import Any

from mesa_memory.core.render import shorten
from mesa_memory.tasks.base import Inputs, Task, by_step
from mesa_memory.tasks.consolidate import BULLET, WORD_CHARS, Summary, check, doubt
from mesa_memory.tasks.offline.excerpt import most_important

#: the story has fewer sentences
STORY_SENTENCES = 5


def prompt(inputs: Inputs) -> str:
    """Asks to tell ``lines`` (step, line; oldest first) on in the story ``summary``."""
    return (
        f"The story so far{doubt(inputs)}:\n- {inputs['summary'] or '(it begins here)'}\n\n"
        f"What happened then, oldest first:\n{by_step(inputs['lines'])}\n\n"
        f"The story up to now, in fewer than {STORY_SENTENCES} sentences, at most "
        f"{inputs['max_chars'] // WORD_CHARS} words. "
        'Reply with JSON only: {"summary": "…"}'
    )


def offline(inputs: Inputs) -> dict[str, Any]:
    """The most important of the earlier parts, and of the new events, oldest first."""
    most = STORY_SENTENCES - 1
    room = max(20, inputs["max_chars"] // most - 40)
    old = [part for part in inputs["summary"].split(BULLET) if part]
    new = [
        shorten(f"Step {step}: {line.replace(BULLET, ' · ')}", room)
        for step, line in inputs["lines"]
    ]
    chosen = [new[n] for n in most_important(new, most // 2)]
    kept = [old[n] for n in most_important(old, most - len(chosen))]
    return {"summary": BULLET.join([*kept, *chosen])[: inputs["max_chars"]]}


#: inputs: ``summary`` so far, ``lines`` (step, line) and ``max_chars``; ``stale`` if
#: something that the summary rests on does not hold any more
STORY = Task(
    "story",
    Summary,
    system=(
        "You tell the story of one agent in a simulation, as it lives through it. Take "
        "the story so far and what happened then, and tell both as one short story. "
        "Keep names, numbers, places, promises, plans and who said what; what newer "
        "events correct is told as it is now. Write plain text, no headings."
    ),
    prompt=prompt,
    check=check,
    offline=offline,
)
