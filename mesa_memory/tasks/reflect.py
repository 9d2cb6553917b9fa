"""Insights from statements about an agent's life, each with its evidence; questions.

After Park et al. 2023, section 4.2. The evidence must be among the statements that were
shown, so that every insight leads back to events. The reply also names the earlier
insights that are no longer true, so that what was concluded once does not stay for good.
"""

from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, Field, WithJsonSchema

import mesa_memory.tasks.offline.themes as themes
from mesa_memory.core.content import shorten
from mesa_memory.core.importance import GRADE_MIN
from mesa_memory.core.text.replies import Unusable, check_text
from mesa_memory.tasks.base import (
    AnyNumbers,
    Inputs,
    ListReply,
    Numbers,
    Task,
    vocabulary_of,
    whole,
    wording_of,
)
from mesa_memory.tasks.grade import offline_grade
from mesa_memory.tasks.grounding import supports

#: longest insight, or question
INSIGHT_CHARS = 400
#: longest statement in an insight without a model
LAST_CHARS = 160


class Insight(BaseModel):
    """A conclusion from some of the listed statements.

    Attributes:
        importance: None if the reply gave no whole number.
        revises: numbers of the earlier insights that it replaces.
    """

    insight: str
    evidence: Numbers
    importance: Annotated[
        int | None, BeforeValidator(whole), WithJsonSchema({"type": "integer"})
    ] = None
    revises: AnyNumbers = Field(default_factory=list)


class Insights(ListReply):
    """An agent's conclusions from its records.

    Attributes:
        withdrawn: numbers of the earlier insights that do not hold and are not replaced.
    """

    insights: list[Insight] = Field(default_factory=list)
    withdrawn: AnyNumbers = Field(default_factory=list)


class Drawn[T](NamedTuple):
    """A checked insight.

    Attributes:
        evidence: places from 0, in ascending order, in ``lines`` followed by ``held``, or
            what stands there; empty if no cited statement supports it.
        importance: None if the reply gave none on the scale.
        revises: places in the same row, of earlier insights, or what stands there.
    """

    text: str
    evidence: list[T]
    importance: int | None
    revises: list[T]


def check(reply: Insights, inputs: Inputs) -> tuple[list[Drawn[int]], list[int]]:
    """The insights of a reply, and the places of the withdrawn ones, see ``Drawn``.

    A cited statement is evidence only if it shares a word with the insight. An insight
    may lose all its evidence: it is doubtful then. No insight at all is an answer.

    Returns:
        At most ``count`` insights for each question.

    Raises:
        Unusable: if there are insights and none of them cites anything that was shown,
            or a text is unusable.
    """
    lines, held = inputs["lines"], inputs["held"]
    shown = [*lines, *held]
    found = []
    for item in reply.insights:
        evidence = sorted({n - 1 for n in item.evidence if 1 <= n <= len(shown)})
        if not evidence:
            continue
        check_text("insight", item.insight, INSIGHT_CHARS)
        text = " ".join(item.insight.split())
        grade = item.importance
        on_scale = grade is not None and GRADE_MIN <= grade <= inputs["top"]
        found.append(
            Drawn(
                text,
                [place for place in evidence if supports(shown[place], text)],
                grade if on_scale else None,
                _places(item.revises, len(lines), len(held)),
            )
        )
    if reply.insights and not found:
        raise Unusable("no evidence", most=len(shown))
    most = inputs["count"] * max(1, len(inputs["questions"]))
    return found[:most], _places(reply.withdrawn, len(lines), len(held))


def _places(numbers: list[int], before: int, count: int) -> list[int]:
    """The places of earlier insights by their numbers; all other numbers are ignored."""
    return sorted({n - 1 for n in numbers if before < n <= before + count})


def offline(inputs: Inputs) -> dict[str, Any]:
    """An insight for each of the most common themes, those asked for first.

    It replaces the earlier ones about its theme.
    """
    lines, wording = inputs["lines"], wording_of(inputs)
    held, asked = inputs["held"], inputs["questions"]
    top, told = inputs["top"], vocabulary_of(inputs)
    found = themes.themes(lines, wording)
    insights = []
    for theme in themes.asked_first(found, " ".join(asked))[: inputs["count"]]:
        last = shorten(lines[found[theme][-1]], LAST_CHARS)
        text = wording(
            "reflect",
            "offline insight",
            theme=theme,
            times=len(found[theme]),
            last=last,
        )
        insight: dict[str, Any] = {
            "insight": text,
            "evidence": [place + 1 for place in found[theme]],
            "revises": [
                number
                for number, line in enumerate(held, len(lines) + 1)
                if _is_about(line, theme, inputs)
            ],
        }
        if top:
            grade = offline_grade("reflection", text, (), top, told)
            insight["importance"] = grade
        insights.append(insight)
    return {"insights": insights}


def _is_about(line: str, theme: str, inputs: Inputs) -> bool:
    """True for an insight without a model about this theme."""
    given = {"theme": theme, "times": "\0", "last": ""}
    begins = wording_of(inputs)("reflect", "offline insight", **given).partition("\0")
    return begins[0] in line


#: inputs: ``lines``, the statements, oldest first; ``count``, the most insights for each
#: question; ``questions`` to answer, if any; ``held``, the earlier insights that may be
#: replaced or withdrawn; ``top``, the highest importance, 0 if it is not asked for
REFLECT = Task(
    "reflect", Insights, check=check, offline=offline, max_chars=INSIGHT_CHARS
)


class Questions(ListReply):
    """Questions of an agent about its own records."""

    questions: list[str]


def question_check(reply: Questions, inputs: Inputs) -> list[str]:
    """The questions of a reply, each once, in order, at most ``count``.

    No question is an answer: nothing is worth asking.

    Raises:
        Unusable: for an unusable one.
    """
    asked = list(dict.fromkeys(" ".join(text.split()) for text in reply.questions))
    chosen = asked[: inputs["count"]]
    for text in chosen:
        check_text("question", text, INSIGHT_CHARS)
    return chosen


def question_offline(inputs: Inputs) -> dict[str, Any]:
    """One question for each of the ``count`` most common themes of ``lines``.

    Themes without an insight come first.
    """
    wording, held = wording_of(inputs), inputs["held"]

    def is_known(theme: str) -> bool:
        return any(_is_about(line, theme, inputs) for line in held)

    found = sorted(themes.themes(inputs["lines"], wording), key=is_known)
    return {
        "questions": [
            wording("questions", "offline question", theme=theme)
            for theme in found[: inputs["count"]]
        ]
    }


#: inputs: ``lines``, the statements, oldest first; ``count``, the most questions;
#: ``held``, earlier insights, whose questions are answered
QUESTIONS = Task(
    "questions",
    Questions,
    check=question_check,
    offline=question_offline,
    max_chars=INSIGHT_CHARS,
)
