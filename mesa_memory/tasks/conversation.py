"""An agent's memory of a conversation that is over, in its own words.

Each participant is asked for itself, with what it said and heard and nothing else, so
two of them remember the same conversation differently. Offline the summary is made of
the most important things that were said, word for word.
"""

from typing import Any

from mesa_memory.core.render import shorten
from mesa_memory.tasks.base import Inputs, Task, by_step, vocabulary_of, wording_of
from mesa_memory.tasks.consolidate import (
    Summary,
    check,
    most_important,
    sentence,
    word_limit,
)

#: things said that a summary tells if there is no model
SUMMARY_LINES = 2


def values(inputs: Inputs) -> dict[str, Any]:
    """The values of the prompt: ``others``, ``events``, ``words``."""
    return {
        "others": inputs["others"],
        "events": by_step(inputs["lines"], wording_of(inputs)),
        "words": word_limit(inputs),
    }


def offline(inputs: Inputs) -> dict[str, Any]:
    """The participants, and the most important lines, oldest first."""
    wording, lines = wording_of(inputs), [line for _, line in inputs["lines"]]
    room = max(20, inputs["max_chars"] // (SUMMARY_LINES + 1) - 40)
    others = shorten(inputs["others"], room)
    told = [wording("conversation", "offline met", others=others)]
    for place in most_important(lines, SUMMARY_LINES, vocabulary_of(inputs)):
        speaker, text = inputs["turns"][place]
        part = "offline heard" if speaker else "offline said"
        given = {"speaker": speaker, "text": shorten(text, room)}
        told.append(sentence(wording("conversation", part, **given)))
    return {"summary": " ".join(told)[: inputs["max_chars"]]}


#: inputs: ``me`` and ``others`` as texts name them; ``lines`` (step, line) of what was
#: said, oldest first; ``turns``, of each the speaker, empty for ``me``, and the words;
#: ``max_chars`` of the summary
CONVERSATION = Task(
    "conversation", Summary, values=values, check=check, offline=offline
)
