"""Insights from statements about an agent's life, each with its evidence; questions.

After Park et al. 2023, section 4.2. The evidence must be among the statements that were
shown, so that every insight leads back to events.
"""

from typing import Any

from pydantic import BaseModel

import mesa_memory.tasks.offline.themes as themes
from mesa_memory.core.content import shorten
from mesa_memory.core.text.replies import Unusable, check_text
from mesa_memory.tasks.base import Inputs, Task, wording_of
from mesa_memory.tasks.by_number import ListReply, Numbers
from mesa_memory.tasks.offline.terms import supports

#: longest insight, or question
INSIGHT_CHARS = 400
#: longest statement in an insight without a model
LAST_CHARS = 160


class Insight(BaseModel):
    """A conclusion from some of the listed statements."""

    insight: str
    evidence: Numbers


class Insights(ListReply):
    """An agent's conclusions from its records."""

    insights: list[Insight]


def values(inputs: Inputs) -> dict[str, Any]:
    """The values of the prompt."""
    return {**inputs, "question": inputs["question"] or ""}


def check(reply: Insights, inputs: Inputs) -> list[tuple[str, list[int]]]:
    """The insights of a reply with the statements that support them.

    A cited statement is evidence only if it shares a word with the insight. An insight
    may lose all its evidence: it is doubtful then.

    Returns:
        At most ``count`` texts, with positions in ``lines`` from 0, each once, in
        ascending order.

    Raises:
        Unusable: if no insight cites anything that was shown, or a text is unusable.
    """
    shown = len(inputs["lines"])
    found = []
    for item in reply.insights:
        evidence = sorted({n - 1 for n in item.evidence if 1 <= n <= shown})
        if not evidence:
            continue
        check_text("insight", item.insight, INSIGHT_CHARS)
        text = " ".join(item.insight.split())
        found.append(
            (text, [p for p in evidence if supports(inputs["lines"][p], text)])
        )
    if not found:
        raise Unusable("no evidence", most=shown)
    return found[: inputs["count"]]


def offline(inputs: Inputs) -> dict[str, Any]:
    """An insight for each of the most common themes, those asked for first."""
    lines = inputs["lines"]
    found = themes.themes(lines, wording_of(inputs))
    order = themes.asked_first(found, inputs["question"])
    return {
        "insights": [
            {
                "insight": wording_of(inputs)(
                    "reflect",
                    "offline insight",
                    theme=theme,
                    times=len(found[theme]),
                    last=shorten(lines[found[theme][-1]], LAST_CHARS),
                ),
                "evidence": [position + 1 for position in found[theme]],
            }
            for theme in order[: inputs["count"]]
        ]
    }


#: inputs: ``lines``, the statements, oldest first; ``count``, the most insights; the
#: ``question`` to answer, or None
REFLECT = Task(
    "reflect",
    Insights,
    values=values,
    check=check,
    offline=offline,
    max_chars=INSIGHT_CHARS,
)


class Questions(ListReply):
    """Questions of an agent about its own records."""

    questions: list[str]


def question_check(reply: Questions, inputs: Inputs) -> list[str]:
    """The questions of a reply, each once, in order, at most ``count``.

    Raises:
        Unusable: without a question, or for an unusable one.
    """
    asked = list(dict.fromkeys(" ".join(text.split()) for text in reply.questions))
    if not asked:
        raise Unusable("no question")
    chosen = asked[: inputs["count"]]
    for text in chosen:
        check_text("question", text, INSIGHT_CHARS)
    return chosen


def question_offline(inputs: Inputs) -> dict[str, Any]:
    """One question for each of the ``count`` most common themes of ``lines``."""
    found = list(themes.themes(inputs["lines"], wording_of(inputs)))[: inputs["count"]]
    wording = wording_of(inputs)
    return {
        "questions": [
            wording("questions", "offline question", theme=theme) for theme in found
        ]
    }


#: inputs: ``lines``, the statements, oldest first; ``count``, the most questions
QUESTIONS = Task(
    "questions",
    Questions,
    check=question_check,
    offline=question_offline,
    max_chars=INSIGHT_CHARS,
)
