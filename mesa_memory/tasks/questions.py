"""Questions of an agent about its memory (Park et al. 2023, section 4.2)."""

from typing import Any

from pydantic import BaseModel, Field, model_validator

import mesa_memory.tasks.offline.themes as themes
from mesa_memory.core.text.replies import Unusable, check_text
from mesa_memory.tasks.base import Inputs, Task, numbered
from mesa_memory.tasks.reflect import INSIGHT_CHARS, SYSTEM


class Questions(BaseModel):
    """Questions of an agent about its own records."""

    questions: list[str] = Field(description="One question each, plain text")

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, value: Any) -> Any:
        """Accepts a bare list, which models also send."""
        return {"questions": value} if isinstance(value, list) else value


def prompt(inputs: Inputs) -> str:
    """Asks what is worth reflecting on."""
    task = (
        f"Which {inputs['count']} questions about the people and things in these "
        "statements are the most worth answering? Ask only what the agent's memory may "
        'answer. Reply with JSON only: {"questions": ["…"]}'
    )
    listed = numbered(inputs["lines"])
    return "\n".join(["Statements, oldest first:", *listed, "", task])


def check(reply: Questions, inputs: Inputs) -> list[str]:
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


def offline(inputs: Inputs) -> dict[str, Any]:
    """One question for each of the ``count`` most common themes of ``lines``."""
    found = list(themes.themes(inputs["lines"]))[: inputs["count"]]
    return {"questions": [f"What is known about {theme}?" for theme in found]}


#: inputs: ``lines``, the statements, oldest first; ``count``, the most questions
QUESTIONS = Task(
    "questions",
    Questions,
    system=SYSTEM,
    prompt=prompt,
    check=check,
    offline=offline,
    max_chars=INSIGHT_CHARS,
)
