"""The importance of events for an agent: a grade from 1 to 5, or to 10, for each.

Offline a grade follows from the kind of event, from words that stand out, and from
what is new.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Annotated, Any, ClassVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    GetJsonSchemaHandler,
    WithJsonSchema,
    model_validator,
)

from mesa_memory.core.content import words
from mesa_memory.core.importance import GRADE_MAX, GRADE_MIN
from mesa_memory.core.text.replies import Unusable
from mesa_memory.core.text.vocabulary import ENGLISH_WORDS, Vocabulary
from mesa_memory.tasks.base import (
    Inputs,
    Task,
    checked,
    in_lines,
    list_schema,
    named,
    vocabulary_of,
    whole,
)

#: how models name the two numbers of a grade
_EVENT_NAMES = ("event", "number", "event_number", "id", "n", "no", "line")
_GRADE_NAMES = ("grade", "importance", "score", "rating", "value")
#: the name of an event in a mapping
_NUMBERED = re.compile(r"(?:event)?[\s_#]*(\d{1,6})\.?", re.IGNORECASE)
#: an event and its grade on a line; "3.5" is neither
_LINE = re.compile(
    r"\W*(?:event\W*)?(\d{1,6})\**(?:[.)]\s+|\s*[:=→|]\s*|\s+[-–—]\s+)"
    r"(?:\W*grade\W*|\**\s*)(\d{1,2})(?:\W*|\s*[-–—(:,|]\s*[^\W\d].*)",
    re.IGNORECASE,
)
_EXCITED = frozenset("!?！？")
#: everyday kinds weigh less than what somebody says or decides
_KIND_BASE = {"observation": 1, "action": 2, "plan": 2, "plan_execution": 1}


class Grade(BaseModel):
    """The importance of one event.

    Attributes:
        event: the event's number; None if the reply gave only a place in a list.
        grade: None if the reply did not give a whole number.
    """

    event: Annotated[
        int | None, BeforeValidator(whole), WithJsonSchema({"type": "integer"})
    ]
    grade: Annotated[
        int | None, BeforeValidator(whole), WithJsonSchema({"type": "integer"})
    ]

    @model_validator(mode="before")
    @classmethod
    def _any_names(cls, value: Any) -> Any:
        """Accepts a bare grade, and other names of the two numbers."""
        if isinstance(value, dict) and value.keys() == cls.model_fields.keys():
            return value  # as it was asked for
        return named(value, event=_EVENT_NAMES, grade=_GRADE_NAMES)


class Grades(BaseModel):
    """Importance of several events, each by its number in the list.

    Attributes:
        top: the highest grade.
        count: how many events there are; 0 does not say.
        as_text: True if the reply is asked for as lines of text.
    """

    top: ClassVar[int] = GRADE_MAX
    count: ClassVar[int] = 0
    as_text: ClassVar[bool] = False
    grades: list[Grade]

    @model_validator(mode="before")
    @classmethod
    def _any_form(cls, value: Any) -> Any:
        """Accepts a bare list, a single grade, and ``{"1": 3, "2": 4}``."""
        if not isinstance(value, dict):
            return {"grades": value} if isinstance(value, list) else value
        if "grades" in value:
            given = value["grades"]
            return {"grades": _by_number(given)} if isinstance(given, dict) else value
        if value and all(_NUMBERED.fullmatch(str(key)) for key in value):
            return {"grades": _by_number(value)}
        return {"grades": [value]} if "grade" in value else value

    @classmethod
    def from_text(cls, text: str) -> "Grades | None":
        """Accepts lines such as ``2. 5`` and ``Event 2: 5``; None without any."""
        found = in_lines(text, _LINE, "event", "grade")
        return cls.model_validate({"grades": found}) if found else None

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: Any, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """The schema for a model: exactly ``count`` grades of the scale.

        Ranges are lists of values, which more servers keep to than to limits. A reply
        that does without them is read all the same.
        """
        tree = handler.resolve_ref_schema(handler(core))
        if cls.count:
            parts = {
                "event": {"type": "integer", "enum": [*range(1, cls.count + 1)]},
                "grade": {"type": "integer", "enum": [*range(GRADE_MIN, cls.top + 1)]},
            }
            tree["properties"]["grades"] |= list_schema(cls.count, parts)
        return tree


def _by_number(grades: dict) -> list[dict[str, Any]]:
    """Items of a mapping from event to grade."""
    found = [(_NUMBERED.fullmatch(str(key)), grade) for key, grade in grades.items()]
    return [{"event": m and m[1], "grade": grade} for m, grade in found]


def schema(inputs: Inputs) -> type[Grades]:
    """The shape of one grade for each of the ``events``, at most ``top``."""
    return _exactly(len(inputs["events"]), inputs["top"], "in_lines" in inputs)


@lru_cache(maxsize=100)
def _exactly(count: int, top: int, in_lines: bool) -> type[Grades]:
    """The shape of exactly ``count`` grades, made once for each count."""
    name = "Grades" if top == GRADE_MAX else "GradesOfTen"
    own = {"count": count, "top": top, "as_text": in_lines, "__module__": __name__}
    return type(f"{name}Of{count}", (Grades,), {**own, "__doc__": Grades.__doc__})


def values(inputs: Inputs) -> dict[str, Any]:
    """The values of the prompt."""
    return {
        "events": [line for _, line in inputs["events"]],
        "context": inputs["context"],
        "top": inputs["top"],
        "in_lines": bool(inputs.get("in_lines")),
    }


def check(reply: Grades, inputs: Inputs) -> dict[int, float]:
    """The grades by place from 0, as far as they are on the scale; see ``by_place``."""
    return by_place(reply, len(inputs["events"]))


def by_place(reply: Grades, count: int) -> dict[int, float]:
    """The grades on the scale, by place from 0, of ``count`` events.

    Raises:
        Unusable: if it cannot be told which grade is whose, or none is on the scale.
    """
    given = [item.event for item in reply.grades]
    numbers = checked(given, count, "event", "grade")
    found: dict[int, float] = {}
    for number, item in zip(numbers, reply.grades, strict=True):
        grade = item.grade
        if number and grade is not None and GRADE_MIN <= grade <= reply.top:
            found[number - 1] = grade
    if not found:
        raise Unusable("no grade", most=reply.top)
    return found


def offline(inputs: Inputs) -> dict[str, Any]:
    """Grades of ``events``, given the words ``known`` already."""
    known, top = inputs.get("known", ()), inputs["top"]
    told = vocabulary_of(inputs)
    grades = [offline_grade(k, line, known, top, told) for k, line in inputs["events"]]
    return {"grades": grades}


def offline_grade(
    kind: str,
    line: str,
    known: Iterable[str] = (),
    top: int = GRADE_MAX,
    told: Vocabulary = ENGLISH_WORDS,
) -> int:
    """A grade without a model: kind, cue words and novelty.

    Args:
        known: words already met; an event that only repeats them is worth less.
        top: the highest grade.
        told: the words of the line's language.
    """
    grade = _cue_grade(kind, line, told)
    already = set(known)
    if already:
        found = set(words(line))
        grade -= bool(found) and len(found - already) / len(found) < 0.2
    within = max(GRADE_MIN, min(GRADE_MAX, grade)) - GRADE_MIN
    return GRADE_MIN + round(within * (top - GRADE_MIN) / (GRADE_MAX - GRADE_MIN))


@lru_cache(maxsize=2_000)
def _cue_grade(kind: str, line: str, told: Vocabulary) -> int:
    """A grade by kind and cues; summaries look at the same line again and again."""
    cues = told.count(told.cues, words(line))
    excited = not _EXCITED.isdisjoint(line)
    return _KIND_BASE.get(kind, 2) + min(cues, 2) + excited


#: inputs: ``events`` (kind, line); ``top``, the highest grade; ``context``, lines that the
#: agent remembers already, shown but not graded
GRADE = Task("grade", schema, values=values, check=check, offline=offline)
