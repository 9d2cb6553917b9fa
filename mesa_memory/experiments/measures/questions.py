"""One typed item of a questionnaire."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from mesa_memory.core.validate import one_of

#: what an answer can be
KINDS = ("text", "integer", "float", "choice", "json")
_NUMBERS = {"integer": (int, "a whole number"), "float": (float, "a number")}


@dataclass(frozen=True)
class Question:
    """A question to agents, and the kind of answer that counts.

    Args:
        name: of the item; the column ``question`` of the answers.
        text: the question in plain words.
        kind: ``"text"`` (plain text of at most 100 words), ``"integer"``, ``"float"``,
            ``"choice"`` (one of ``choices``) or ``"json"`` (any JSON value, or what
            ``schema`` says).
        choices: the texts to choose from, for a choice; each once.
        least, most: bounds of a number, both included; None for unbounded.
        schema: pydantic class of the answer, for ``"json"``.
        truth: for ``MemoryQuiz``, a function of model and agent that gives what is right:
            a number, a text, or True or False for yes or no.

    Raises:
        ValueError, TypeError: for what does not go together.

    Example:
        >>> Question("trust", "How far do you trust the miller?", "integer", least=1, most=7)
        Question('trust', integer)
    """

    name: str
    text: str
    kind: str = "text"
    choices: Sequence[str] = ()
    least: float | None = None
    most: float | None = None
    schema: type[BaseModel] | None = None
    truth: Callable[[Any, Any], Any] | None = None

    def __post_init__(self) -> None:
        one_of("kind", KINDS, self.kind)
        for told in ("name", "text"):
            given = getattr(self, told)
            if not isinstance(given, str) or not given.strip():
                raise ValueError(f"{told} of a question must be a text, got {given!r}")
        choices, least, most = self.choices, self.least, self.most
        texts = not isinstance(choices, str) and all(
            isinstance(c, str) for c in choices
        )
        several = texts and len({*choices}) == len(choices) >= 2
        ordered = least is None or most is None or least < most
        bounded = self.kind in _NUMBERS or (least, most) == (None, None)
        chosen = several if self.kind == "choice" else not choices
        judged = self.truth is None or callable(self.truth)
        rules = {
            "choices of two or more different texts go with kind='choice'": chosen,
            "least and most, least below most, go with a number": ordered and bounded,
            "schema goes with kind='json'": self.schema is None or self.kind == "json",
            "truth is a function of model and agent": judged,
        }
        for rule, kept in rules.items():
            if not kept:
                given = (
                    f"kind={self.kind!r}, choices={choices!r}, least={least}, most={most}, "
                    f"truth={self.truth!r}"
                )
                raise ValueError(f"in the question {self.name!r} {rule}; got {given}")
        object.__setattr__(self, "choices", tuple(choices))

    def __repr__(self) -> str:
        return f"Question({self.name!r}, {self.kind})"

    @property
    def form(self) -> type[BaseModel] | None:
        """Pydantic class of the answer; None for plain text."""
        if self.kind == "text":
            return None
        return self.schema or _form(self.kind, self.choices, self.least, self.most)

    @property
    def description(self) -> dict[str, Any]:
        """The question as plain data."""
        plain = {f: getattr(self, f) for f in ("name", "text", "kind", "least", "most")}
        schema = None if self.schema is None else self.schema.model_json_schema()
        return plain | {"choices": list(self.choices), "schema": schema}

    def value(self, answer: Any) -> Any:
        """An answer of this form as plain data: text, number, or JSON."""
        if not isinstance(answer, BaseModel):
            return answer
        given = answer.model_dump(mode="json")
        return given if self.schema else given["answer"]


@cache
def _form(
    kind: str, choices: tuple[str, ...], least: float | None, most: float | None
) -> type[BaseModel]:
    """The class of an answer; the same object each time, by which it is known."""
    answer, told = _answer(kind, choices, least, most)
    field = Field(description=told, ge=least, le=most) if kind in _NUMBERS else None
    return create_model(
        "Answer",
        __config__=ConfigDict(extra="ignore"),
        answer=(answer, field or Field(description=told)),
    )


def _answer(
    kind: str, choices: tuple[str, ...], least: float | None, most: float | None
) -> tuple[Any, str]:
    """The type of an answer, and its description for a model."""
    if kind == "choice":
        members = [(f"choice_{n}", text) for n, text in enumerate(choices, 1)]
        listed = ", ".join(f'"{choice}"' for choice in choices)
        # No texts: the answer "none" is a choice, and not an empty reply.
        return Enum("Choice", members), f"one of {listed}"
    if kind == "json":
        return Any, "any JSON value"
    type_, told = _NUMBERS[kind]
    if least is not None and most is not None:
        return type_, f"{told} from {least:g} to {most:g}"
    if least is not None:
        return type_, f"{told}, at least {least:g}"
    return type_, told if most is None else f"{told}, at most {most:g}"
