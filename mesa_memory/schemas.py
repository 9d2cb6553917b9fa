"""The shape of every structured reply, as pydantic models."""

from typing import Any

from pydantic import BaseModel, Field, field_validator, model_validator

#: grades run from 1 (irrelevant) to 5 (critical), as in Mesa-LLM
GRADE_MIN, GRADE_MAX = 1, 5


class Summary(BaseModel):
    """A running summary of what happened."""

    summary: str = Field(description="The updated summary, plain text")


class Grades(BaseModel):
    """Importance of several events, in the order they were listed."""

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
        wrong = [g for g in grades if not GRADE_MIN <= g <= GRADE_MAX]
        if wrong:
            raise ValueError(f"grades must be from 1 to 5, got {wrong}")
        return grades


class Impression(BaseModel):
    """What an agent thinks of another one."""

    text: str = Field(description="One sentence about the other agent")
    sentiment: float = Field(ge=-1, le=1, description="-1 hostile to 1 friendly")
    familiarity: float = Field(ge=0, le=1, description="0 stranger to 1 intimate")
