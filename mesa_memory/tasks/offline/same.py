"""Whether sentences state the same as a text, in whatever words.

A researcher asks it, and nobody in the simulation. Similarity cannot tell it: a denial
has most of the words of what it denies.
"""

import re
from functools import lru_cache
from typing import Annotated, Any, ClassVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    WithJsonSchema,
    model_validator,
)

from mesa_memory.core.content import words
from mesa_memory.core.text.replies import Unusable
from mesa_memory.retrieval.stop_words import STOP_WORDS
from mesa_memory.tasks.base import Inputs, Task, bulleted, numbered
from mesa_memory.tasks.by_number import checked, in_lines, list_schema, named

#: sentences in a request, at most
BATCH = 40
#: how models name the two parts of a verdict
_NUMBER_NAMES = ("sentence", "number", "id", "n", "no", "line")
_SAME_NAMES = ("same", "verdict", "answer", "states_the_same", "value")
_WORDS = {
    "yes": True, "true": True, "same": True, "y": True, "1": True,
    "no": False, "false": False, "different": False, "not same": False, "n": False,
    "0": False,
}  # fmt: skip
_NUMBERED = re.compile(r"(?:sentence)?[\s_#]*(\d{1,4})\.?", re.IGNORECASE)
#: a sentence's number and its verdict on a line
_LINE = re.compile(
    r"\W*(?:sentence\W*)?(\d{1,4})(?:[.)]\s+|\s*[:=→]\s*|\s+[-–—]\s+)"
    r"(yes|no|true|false|same|different)\W*",
    re.IGNORECASE,
)
#: offline, a sentence has more than this share of the content words of the text
SHARE = 0.5
#: ends of English words that say nothing of what they mean
_ENDING = re.compile(r"(?<=\w{3})(?:ing|ed|es|s|e)$")
_DENIAL = re.compile(
    r"\b(?:not|no|never|nobody|none|nothing|neither|nor|cannot|without|false|untrue|"
    r"wrong|den(?:y|ies|ied|ial)|a lie|hoax|myth)\b|n['’]t\b",
    re.IGNORECASE,
)


def _whole(value: Any) -> int | None:
    """A sentence's number, also as ``"Sentence 3"``; None for anything else."""
    found = None if isinstance(value, bool) else _NUMBERED.fullmatch(str(value).strip())
    return int(found[1]) if found else None


def _truth(value: Any) -> bool | None:
    """A verdict, also as a word; None for anything else."""
    if isinstance(value, bool):
        return value
    return _WORDS.get(str(value).strip(" .!\"'").lower())


class Verdict(BaseModel):
    """Whether one sentence states the same.

    Attributes:
        sentence: its number; None if the reply gave only a place in a list.
        same: None if the reply gave something that is neither yes nor no.
    """

    sentence: Annotated[
        int | None,
        BeforeValidator(_whole),
        WithJsonSchema({"type": "integer", "description": "Number of the sentence"}),
    ]
    same: Annotated[
        bool | None,
        BeforeValidator(_truth),
        WithJsonSchema({"type": "boolean", "description": "If it states the same"}),
    ]

    @model_validator(mode="before")
    @classmethod
    def _any_names(cls, value: Any) -> Any:
        """Accepts a bare verdict, and what else models call the two parts."""
        return named(value, sentence=_NUMBER_NAMES, same=_SAME_NAMES)


class Verdicts(BaseModel):
    """Whether several sentences state the same, each by its number in the list.

    Attributes:
        count: how many sentences there are; 0 does not say.
    """

    count: ClassVar[int] = 0
    verdicts: list[Verdict] = Field(
        description="For each sentence its number, and true if it states the same"
    )

    @model_validator(mode="before")
    @classmethod
    def _any_form(cls, value: Any) -> Any:
        """Accepts a bare list, a single verdict, and ``{"1": true, "2": false}``."""
        if isinstance(value, dict):
            given = value.get("verdicts", value)
            if not isinstance(given, dict):
                return value
            if given and all(_NUMBERED.fullmatch(str(key)) for key in given):
                given = [{"sentence": n, "same": same} for n, same in given.items()]
            return {"verdicts": given if isinstance(given, list) else [given]}
        return {"verdicts": value} if isinstance(value, list) else value

    @classmethod
    def from_text(cls, text: str) -> "Verdicts | None":
        """Accepts lines such as ``2. yes`` and ``Sentence 2: no``; None without any."""
        found = in_lines(text, _LINE, "sentence", "same")
        return cls.model_validate({"verdicts": found}) if found else None

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: Any, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """What a model is asked for: exactly ``count`` verdicts.

        A reply that does without them is read all the same.
        """
        tree = handler.resolve_ref_schema(handler(core))
        if cls.count:
            parts = {
                "sentence": {"type": "integer", "enum": [*range(1, cls.count + 1)]},
                "same": {"type": "boolean"},
            }
            tree["properties"]["verdicts"] |= list_schema(cls.count, parts)
        return tree


def schema(inputs: Inputs) -> type[Verdicts]:
    """The shape of one verdict for each of the ``lines``."""
    return _exactly(len(inputs["lines"]))


@lru_cache(maxsize=BATCH)
def _exactly(count: int) -> type[Verdicts]:
    """The shape of exactly ``count`` verdicts, made once for each count."""
    own = {"count": count, "__module__": __name__, "__doc__": Verdicts.__doc__}
    return type(f"VerdictsOf{count}", (Verdicts,), own)


def prompt(inputs: Inputs) -> str:
    """Asks for one verdict per sentence."""
    lines, unlike = inputs["lines"], inputs["unlike"]
    other = ["This is not meant:", *bulleted([unlike]), ""]
    return "\n".join(
        [
            "The text:",
            *bulleted([inputs["text"]]),
            "",
            *(other if unlike else ()),
            f"The sentences ({len(lines)}):",
            *numbered(lines),
            "",
            "Which sentences state the same as the text? Say true or false of each.",
            'Reply with JSON only: {"verdicts": [{"sentence": 1, "same": …}, …]}',
        ]
    )


def check(reply: Verdicts, inputs: Inputs) -> dict[int, bool]:
    """The verdicts by place from 0, as far as there are any.

    Raises:
        Unusable: if it cannot be told which verdict is whose, or there is none.
    """
    count = len(inputs["lines"])
    given = [item.sentence for item in reply.verdicts]
    numbers = checked(given, count, "sentence", "verdict")
    found = {
        number - 1: item.same
        for number, item in zip(numbers, reply.verdicts, strict=True)
        if number and item.same is not None
    }
    if not found:
        raise Unusable("there was no verdict in it; a verdict is true or false")
    return found


def offline(inputs: Inputs) -> dict[str, Any]:
    """Verdicts by the words that are shared, and by words of denial."""
    text, unlike = inputs["text"], inputs["unlike"]
    return {
        "verdicts": [offline_verdict(line, text, unlike) for line in inputs["lines"]]
    }


def offline_verdict(line: str, text: str, unlike: str = "") -> bool:
    """A verdict without a model.

    A sentence states the same if it has most content words of the text, and not a larger
    share of those of what is not meant; if it denies something exactly if the text does;
    and if it is no question where the text is none.
    """
    own = _content(line)
    shared = _share(text, own)
    if shared <= SHARE or (unlike and _share(unlike, own) > shared):
        return False
    return _form(line) == _form(text)


def _share(text: str, own: set[str]) -> float:
    """The share of a text's content words that are among others."""
    wanted = _content(text)
    return len(wanted & own) / len(wanted) if wanted else 0.0


def _content(text: str) -> set[str]:
    """The words of a text that say what it is about, without their endings."""
    return {_ENDING.sub("", word) for word in words(text) if word not in STOP_WORDS}


def _form(text: str) -> tuple[bool, bool]:
    """Whether a text denies something, and whether it is a question."""
    return _DENIAL.search(text) is not None, text.rstrip(" \"'”’)").endswith("?")


#: inputs: ``text`` that is looked for; ``unlike``, another one that is not meant, empty if
#: there is none; ``lines``, the sentences, at most ``BATCH``
SAME = Task(
    "same",
    schema,
    system=(
        "You compare sentences from a simulation with a text: you say which of them "
        "state the same, in whatever words. A sentence that denies or doubts the text, "
        "corrects it, asks about it, or says something else with the same words does "
        "not state the same. Who says it, and when, does not matter; # stands for any "
        "number."
    ),
    prompt=prompt,
    check=check,
    offline=offline,
)
