"""The shape of every structured reply, as pydantic models."""

import math
import re
from typing import Annotated, Any, ClassVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    WithJsonSchema,
    field_validator,
    model_validator,
)

#: grades run from 1 (irrelevant) to 5 (critical), as in Mesa-LLM
GRADE_MIN, GRADE_MAX = 1, 5

#: how models name the two numbers of a grade
_EVENT_NAMES = ("event", "number", "event_number", "id", "n", "no", "line")
_GRADE_NAMES = ("grade", "importance", "score", "rating", "value")
_DIGITS = re.compile(r"\s*\d{1,6}\s*")
#: the name of an event in a mapping
_NUMBERED = re.compile(r"(?:event)?[\s_#]*(\d{1,6})\.?", re.IGNORECASE)
#: an event and its grade on a line; "3.5" is neither
_LINE = re.compile(
    r"\W*(?:event\W*)?(\d{1,6})(?:[.)]\s+|\s*[:=→]\s*|\s+[-–—]\s+)"
    r"(?:grade\W*)?(\d{1,2})\W*",
    re.IGNORECASE,
)
#: a longer line is no event's number and grade
LINE_CHARS = 80
_FENCED = re.compile(r"^```[\w-]*\n(.*?)(?:```)?$", re.DOTALL)


class Summary(BaseModel):
    """A running summary of what happened."""

    summary: str = Field(description="The updated summary, plain text")

    @classmethod
    def from_text(cls, text: str) -> "Summary":
        """A summary is text anyway; many models send it bare, and it is good."""
        fenced = _FENCED.match(text)
        return cls(summary=fenced[1] if fenced else text)


def _whole(value: Any) -> int | None:
    """A whole number, also as text or as 3.0; None for anything else."""
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if math.isfinite(value) and value == int(value) else None


class Grade(BaseModel):
    """The importance of one event.

    Attributes:
        event: the event's number; None if the reply gave only a place in a list.
        grade: None if the reply gave something that is no whole number.
    """

    event: Annotated[
        int | None,
        BeforeValidator(_whole),
        WithJsonSchema({"type": "integer", "description": "Number of the event"}),
    ]
    grade: Annotated[
        int | None,
        BeforeValidator(_whole),
        WithJsonSchema({"type": "integer", "description": "Its grade"}),
    ]

    @model_validator(mode="before")
    @classmethod
    def _any_names(cls, value: Any) -> Any:
        """Accepts a bare grade, and what else models call the two numbers."""
        if not isinstance(value, dict):
            return {"event": None, "grade": value}
        names = {str(key).lower(): item for key, item in value.items()}
        return {
            "event": next((names[n] for n in _EVENT_NAMES if n in names), None),
            "grade": next((names[n] for n in _GRADE_NAMES if n in names), None),
        }


class Grades(BaseModel):
    """Importance of several events, each by its number in the list."""

    top: ClassVar[int] = GRADE_MAX
    grades: list[Grade] = Field(
        description="For each event its number and one integer from 1 to 5"
    )

    @model_validator(mode="before")
    @classmethod
    def _any_form(cls, value: Any) -> Any:
        """Accepts a bare list, a single grade, and ``{"1": 3, "2": 4}``."""
        if isinstance(value, dict):
            if value and all(_NUMBERED.fullmatch(str(key)) for key in value):
                return {"grades": _by_number(value)}
            if "grades" not in value and "grade" in value:
                return {"grades": [value]}
            if isinstance(value.get("grades"), dict):
                return {"grades": _by_number(value["grades"])}
        return {"grades": value} if isinstance(value, list) else value

    @classmethod
    def from_text(cls, text: str) -> "Grades | None":
        """Accepts lines such as ``2. 5`` and ``Event 2: 5``; None without any."""
        lines = (line for line in text.splitlines() if len(line) <= LINE_CHARS)
        matches = [match for match in map(_LINE.fullmatch, lines) if match]
        found = [{"event": match[1], "grade": match[2]} for match in matches]
        return cls.model_validate({"grades": found}) if found else None


def _by_number(grades: dict) -> list[dict[str, Any]]:
    """Items of a mapping from event to grade."""
    found = [(_NUMBERED.fullmatch(str(key)), grade) for key, grade in grades.items()]
    return [{"event": m and m[1], "grade": grade} for m, grade in found]


class GradesOfTen(Grades):
    """Importance of several events on the scale of Park et al. 2023."""

    top: ClassVar[int] = 10
    grades: list[Grade] = Field(
        description="For each event its number and one integer from 1 to 10"
    )


#: highest grade of a scale -> shape of the reply
SCALES: dict[int, type[Grades]] = {g.top: g for g in (Grades, GradesOfTen)}


class Impression(BaseModel):
    """What an agent thinks of another one."""

    text: str = Field(description="One sentence about the other agent")
    sentiment: float = Field(ge=-1, le=1, description="-1 hostile to 1 friendly")
    familiarity: float = Field(ge=0, le=1, description="0 stranger to 1 intimate")


class Questions(BaseModel):
    """What an agent may ask itself about what it remembers."""

    questions: list[str] = Field(description="One question each, plain text")

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, value: Any) -> Any:
        """Accepts a bare list, which models also send."""
        return {"questions": value} if isinstance(value, list) else value


class Insight(BaseModel):
    """What follows from some of the listed statements."""

    insight: str = Field(description="One sentence, plain text")
    evidence: list[int] = Field(description="Numbers of the statements it rests on")

    @field_validator("evidence", mode="before")
    @classmethod
    def _one(cls, evidence: Any) -> Any:
        """Accepts a single number, which models also send."""
        alone = isinstance(evidence, int | str) and not isinstance(evidence, bool)
        return [evidence] if alone else evidence


class Insights(BaseModel):
    """What an agent concludes from what it remembers."""

    insights: list[Insight]

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, value: Any) -> Any:
        """Accepts a bare list or a single insight, which models also send."""
        if isinstance(value, dict) and "insight" in value:
            value = [value]
        return {"insights": value} if isinstance(value, list) else value
