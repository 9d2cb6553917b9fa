"""Insights from statements about an agent's life, each with its evidence; questions.

After Park et al. 2023, section 4.2. The evidence must be among the statements that were
shown, so that every insight leads back to events.
"""

from typing import Any

from pydantic import BaseModel, Field

import mesa_memory.tasks.offline.themes as themes
from mesa_memory.core.text.replies import Unusable, check_text
from mesa_memory.tasks.base import Inputs, Task, numbered
from mesa_memory.tasks.by_number import ListReply, Numbers
from mesa_memory.tasks.offline.terms import supports

#: longest insight, or question
INSIGHT_CHARS = 400
#: who reflects
SYSTEM = (
    "You are the reflective mind of one agent in a simulation. From statements "
    "about what it has lived through you draw conclusions that go beyond any "
    "single statement: about people, relations, causes, plans and the agent "
    "itself. Conclude nothing that the statements do not support."
)


class Insight(BaseModel):
    """A conclusion from some of the listed statements."""

    insight: str = Field(description="One sentence, plain text")
    evidence: Numbers = Field(description="Numbers of the statements it rests on")


class Insights(ListReply):
    """An agent's conclusions from its records."""

    insights: list[Insight]


def prompt(inputs: Inputs) -> str:
    """Asks for insights and the numbers of the statements that they rest on."""
    question = inputs["question"]
    about = "To answer the question above, which" if question else "Which"
    asked = ["Question:", f"- {question}", ""] if question else []
    task = (
        f"{about} insights, at most {inputs['count']}, follow from these statements? "
        "For each one sentence, and the numbers of the statements it rests on. Reply "
        'with JSON only: {"insights": [{"insight": "…", "evidence": [1, 2]}]}'
    )
    listed = numbered(inputs["lines"])
    return "\n".join(["Statements, oldest first:", *listed, "", *asked, task])


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
        raise Unusable(
            "no insight names a statement that was listed; evidence must be numbers "
            f"from 1 to {shown}"
        )
    return found[: inputs["count"]]


def offline(inputs: Inputs) -> dict[str, Any]:
    """An insight for each of the most common themes, those asked for first."""
    lines = inputs["lines"]
    found = themes.themes(lines)
    order = themes.asked_first(found, inputs["question"])
    return {
        "insights": [
            {
                "insight": themes.insight(theme, lines, found[theme]),
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
    system=SYSTEM,
    prompt=prompt,
    check=check,
    offline=offline,
    max_chars=INSIGHT_CHARS,
)


class Questions(ListReply):
    """Questions of an agent about its own records."""

    questions: list[str] = Field(description="One question each, plain text")


def question_prompt(inputs: Inputs) -> str:
    """Asks for questions worth a reflection."""
    task = (
        f"Which {inputs['count']} questions about the people and things in these "
        "statements are the most worth answering? Ask only what the agent's memory may "
        'answer. Reply with JSON only: {"questions": ["…"]}'
    )
    listed = numbered(inputs["lines"])
    return "\n".join(["Statements, oldest first:", *listed, "", task])


def question_check(reply: Questions, inputs: Inputs) -> list[str]:
    """The questions of a reply, each once, in order, at most ``count``.

    Raises:
        Unusable: without a question, or for an unusable one.
    """
    asked = list(dict.fromkeys(" ".join(text.split()) for text in reply.questions))
    if not asked:
        raise Unusable("no question was asked")
    chosen = asked[: inputs["count"]]
    for text in chosen:
        check_text("question", text, INSIGHT_CHARS)
    return chosen


def question_offline(inputs: Inputs) -> dict[str, Any]:
    """One question for each of the ``count`` most common themes of ``lines``."""
    found = list(themes.themes(inputs["lines"]))[: inputs["count"]]
    return {"questions": [f"What is known about {theme}?" for theme in found]}


#: inputs: ``lines``, the statements, oldest first; ``count``, the most questions
QUESTIONS = Task(
    "questions",
    Questions,
    system=SYSTEM,
    prompt=question_prompt,
    check=question_check,
    offline=question_offline,
    max_chars=INSIGHT_CHARS,
)
