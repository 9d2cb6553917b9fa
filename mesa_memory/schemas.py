"""The shape of every structured reply, as pydantic models."""

from typing import Any, ClassVar

from pydantic import BaseModel, Field, field_validator, model_validator

#: grades run from 1 (irrelevant) to 5 (critical), as in Mesa-LLM
GRADE_MIN, GRADE_MAX = 1, 5


class Summary(BaseModel):
    """A running summary of what happened."""

    summary: str = Field(description="The updated summary, plain text")


class Grades(BaseModel):
    """Importance of several events, in the order they were listed."""

    top: ClassVar[int] = GRADE_MAX
    grades: list[int] = Field(
        description="One integer from 1 to 5 for each event, in order"
    )

    @model_validator(mode="before")
    @classmethod
    def _single(cls, value: Any) -> Any:
        """Accepts ``{"grade": 3}`` and ``[3, 4]``, which models also send."""
        if isinstance(value, dict) and "grades" not in value and "grade" in value:
            return {"grades": [value["grade"]]}
        return {"grades": value} if isinstance(value, list) else value

    @field_validator("grades", mode="before")
    @classmethod
    def _no_truth(cls, grades: Any) -> Any:
        """``true`` is no grade, although it is a 1 to Python."""
        if isinstance(grades, list) and any(isinstance(g, bool) for g in grades):
            raise ValueError("grades must be integers, got true or false")
        return grades

    @field_validator("grades")
    @classmethod
    def _in_range(cls, grades: list[int]) -> list[int]:
        wrong = [g for g in grades if not GRADE_MIN <= g <= cls.top]
        if wrong:
            raise ValueError(f"grades must be from 1 to {cls.top}, got {wrong}")
        return grades


class GradesOfTen(Grades):
    """Importance of several events on the scale of Park et al. 2023."""

    top: ClassVar[int] = 10
    grades: list[int] = Field(
        description="One integer from 1 to 10 for each event, in order"
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
