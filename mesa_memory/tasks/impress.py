"""Impressions that one agent has of others, updated with later events.

Impression formation: a previous impression is updated, not made anew. All impressions that
an agent has to renew are asked for in one request, see ``impressing``; of a single one the
request is about that agent alone. Offline the sentiment follows from friendly and hostile
words in the other agent's deeds and messages, the familiarity from the number of
meetings. What it says of the world, such as that a tale is false, does not
count as hostility, and the observer's own words do not count either.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, NamedTuple

from pydantic import (
    BaseModel,
    Field,
    ValidationError,
    WithJsonSchema,
    create_model,
    model_validator,
)

from mesa_memory.core.content import one_line, shorten, words
from mesa_memory.core.text.replies import Unusable, check_text
from mesa_memory.core.text.vocabulary import Vocabulary, vocabulary
from mesa_memory.core.wording import ENGLISH, Wording
from mesa_memory.tasks.base import (
    Inputs,
    Schema,
    Task,
    list_schema,
    named,
    vocabulary_of,
    whole,
    wording_of,
)
from mesa_memory.tasks.consolidate import word_limit

#: so short a sentence, such as "Thanks a lot!", is said to somebody, too
EXCLAMATION_WORDS = 4
#: of a language without spaces
CHARS_OF_A_WORD = 2
#: an impression is told in words of another agent's lines from this number of terms, and
#: above this share of its terms
FOREIGN_TERMS, FOREIGN_SHARE = 3, 0.5
#: why an impression of several is asked for again, as the record says it
OF_ANOTHER, NOT_USABLE = "words of another agent's lines", "missing or not usable"
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])")


class Impression(BaseModel):
    """An agent's opinion of another one."""

    text: str
    sentiment: float = Field(ge=-1, le=1)
    familiarity: float = Field(ge=0, le=1)


#: how models name the number of the other agent
_NUMBER_NAMES = ("other", "number", "agent", "id", "n")


class _Several(BaseModel):
    """An agent's opinions of several others; ``schema`` has their number.

    Attributes:
        impressions: one for each, read leniently: one that is wrong spoils no other.
    """

    impressions: list[Any]

    @model_validator(mode="before")
    @classmethod
    def _any_form(cls, value: Any) -> Any:
        """Accepts a bare list, and impressions by their numbers: ``{"1": {…}}``."""
        if isinstance(value, list):
            return {"impressions": value}
        if isinstance(value, dict):
            given = value.get("impressions", value)
            if given and isinstance(given, dict) and all(map(whole, given)):
                return {"impressions": [_named(n, given[n]) for n in given]}
        return value


@cache
def _several(count: int) -> type[_Several]:
    """The shape of a reply with exactly ``count`` impressions."""
    number = {"type": "integer", "enum": [*range(1, count + 1)]}
    parts = {"other": number, **Impression.model_json_schema()["properties"]}
    exactly = {"type": "array", **list_schema(count, parts)}
    items: Any = Annotated[list[Any], WithJsonSchema(exactly)]
    made = create_model("Impressions", __base__=_Several, impressions=(items, ...))
    made.__doc__ = "What an agent thinks of several others, each by its number."
    return made


def schema(inputs: Inputs) -> Schema:
    """The shape of the reply: one impression, or exactly as many as there are others."""
    return _several(len(inputs["others"])) if "others" in inputs else Impression


def values(inputs: Inputs) -> dict[str, Any]:
    """The values of the prompt, the same for one other agent and for several."""
    several = "others" in inputs
    others = inputs["others"] if several else [inputs]
    shared = _together(others)
    common = {line for lines in shared.values() for line in lines}
    return {
        "observer": inputs["observer"],
        "together": [
            {
                "of_all": len(places) == len(others),
                "subjects": [others[place]["subject"] for place in places],
                "lines": lines,
            }
            for places, lines in shared.items()
        ],
        "others": [_told(other, inputs["max_chars"], common) for other in others],
        "several": several,
        "words": word_limit(inputs),
    }


def _together(others: Sequence[Mapping[str, Any]]) -> dict[tuple[int, ...], list[str]]:
    """The lines common to some of the others, by the places of these, oldest first."""
    holders: dict[str, dict[int, None]] = {}
    for place, other in enumerate(others):
        for line in other["since"]:
            holders.setdefault(line, {})[place] = None
    found: dict[tuple[int, ...], list[str]] = {}
    for line, places in holders.items():
        if len(places) > 1:
            found.setdefault(tuple(places), []).append(line)
    return found


def _told(
    other: Mapping[str, Any], max_chars: int, common: Collection[str]
) -> dict[str, Any]:
    """Another agent with the previous impression of it, and the later events.

    Args:
        common: lines that stand elsewhere.
    """
    before = other["previous"] or {"text": ""}
    # Only an impression that somebody has put there by hand is longer.
    text = shorten(one_line(before["text"]), 2 * max_chars)
    return {
        "subject": other["subject"],
        "before": text,
        "sentiment": before.get("sentiment", 0.0),
        "familiarity": before.get("familiarity", 0.0),
        "stale": "stale" in before,
        "since": [line for line in other["since"] if line not in common],
    }


class Usable(NamedTuple):
    """The impressions of a reply about several others that can be used.

    Attributes:
        impressions: by place from 0.
        doubt: the agents without a usable one, and why; empty without such agents.
    """

    impressions: dict[int, Impression]
    doubt: str


def check(reply: Any, inputs: Inputs) -> Any:
    """The impression; of several, ``Usable``.

    An impression that is told in words of another agent's lines is left out, so that
    agent is asked about alone.

    Raises:
        Unusable: if none of several is usable.
    """
    if "others" not in inputs:
        return reply
    others, terms = inputs["others"], vocabulary_of(inputs).terms
    found = by_place(reply.impressions, len(others), inputs["max_chars"])
    told = [frozenset(terms("\n".join(other["since"]))) for other in others]
    of_others = {
        n for n, one in found.items() if _is_of_another(one.text, n, told, inputs)
    }
    again = [
        f"of {other['subject']} ({OF_ANOTHER if place in of_others else NOT_USABLE})"
        for place, other in enumerate(others)
        if place in of_others or place not in found
    ]
    kept = {place: one for place, one in found.items() if place not in of_others}
    return Usable(kept, f"asked for again: {', '.join(again)}" if again else "")


def _is_of_another(
    text: str, place: int, told: Sequence[frozenset[str]], inputs: Inputs
) -> bool:
    """True if most words of an impression come from the lines of another agent.

    One agent's message can tell the model its judgement of another agent. Words that are
    said of all dealings do not count.
    """
    others, known = inputs["others"], vocabulary_of(inputs)
    names = " ".join([inputs["observer"], *(other["subject"] for other in others)])
    before = others[place]["previous"] or {"text": ""}
    said = {*known.terms(text)} - {*known.terms(names)} - known.dealings
    own = told[place].union(known.terms(before["text"]))
    most = max(len(said & lines - own) for lines in told)
    return most >= FOREIGN_TERMS and most > FOREIGN_SHARE * len(said)


def by_place(given: Sequence[Any], count: int, max_chars: int) -> dict[int, Impression]:
    """The impressions that can be used, by place from 0, of ``count`` other agents.

    Raises:
        Unusable: if none is usable, or their agents cannot be told apart.
    """
    numbers = [whole(named(item, other=_NUMBER_NAMES)["other"]) for item in given]
    if not any(numbers) and len(numbers) == count:
        numbers = [*range(1, count + 1)]
    times = Counter(numbers)
    found: dict[int, Impression] = {}
    problem = Unusable("other numbers", most=count)
    for number, item in zip(numbers, given, strict=True):
        if number is None or not 1 <= number <= count or times[number] > 1:
            continue  # of two for one agent, nobody knows which is right
        try:
            one = Impression.model_validate(item)
            check_text(f"the text of {number}", one.text, max_chars)
        except ValidationError as error:
            where = error.errors(include_url=False, include_context=False)[0]
            place = f"{number}: {'.'.join(map(str, where['loc']))}"
            told = f"{place}: {where['msg']}"
            problem = Unusable("wrong form", where=place, problem=told)
        except Unusable as why:
            problem = why
        else:
            found[number - 1] = one
    if not found:
        raise problem
    return found


def _named(number: Any, item: Any) -> Any:
    return {**item, "other": number} if isinstance(item, dict) else item


def offline(inputs: Inputs) -> dict[str, Any]:
    """An impression of each, as if it were the only one."""
    wording = wording_of(inputs)
    if "others" not in inputs:
        return offline_impression(inputs, wording)
    each = [offline_impression(other, wording) for other in inputs["others"]]
    return {"impressions": [{"other": n, **one} for n, one in enumerate(each, 1)]}


def offline_impression(
    other: Mapping[str, Any], wording: Wording = ENGLISH
) -> dict[str, Any]:
    """Sentiment by friendly and hostile words, familiarity by number of meetings."""
    known = vocabulary(wording.language)
    previous = other["previous"] or {"sentiment": 0.0, "familiarity": 0.0}
    seen = other.get("seen") or [(line, "", False) for line in other["since"]]
    theirs = [(line, words) for line, words, own in seen if not own]
    felt = max(-1.0, min(1.0, sum(_tone(*each, known) for each in theirs) / 3))
    held = 0.0 if "stale" in previous else previous["sentiment"]
    sentiment = round(0.7 * held + 0.3 * felt, 3)
    meetings = other.get("meetings", len(other["since"]))
    stranger = (1 - previous["familiarity"]) * 0.95**meetings
    mood = (
        "friendly" if sentiment > 0.1 else "hostile" if sentiment < -0.1 else "neutral"
    )
    last = shorten(theirs[-1][0], 120) if theirs else ""
    told = {"subject": other["subject"], "mood": mood, "last": last}
    return {
        "text": wording("impression", "offline seems", **told),
        "sentiment": sentiment,
        "familiarity": round(1 - stranger, 3),
    }


def _tone(line: str, said: str, known: Vocabulary) -> int:
    """Friendly words less hostile ones, in a deed or in words to a listener."""
    parts = _SENTENCE.split(said) if said else [line]
    tone = 0
    for part in parts:
        found = words(part)
        brief = len(found) if known.spaced else len(part) / CHARS_OF_A_WORD
        short = brief <= EXCLAMATION_WORDS
        if not said or short or known.count(known.addressed, found):
            tone += known.count(known.friendly, found)
            tone -= known.count(known.hostile, found)
    return tone


#: inputs: name of the ``observer``; ``max_chars`` of an impression; and of the other agent
#: its name, ``subject``, the ``previous`` impression's fields, or None (``stale`` among
#: them if what it rests on has changed), ``since``, lines of what happened, oldest first, ``seen``, of each event the line, the words
#: (empty for a deed) and whether they are the observer's, and ``meetings``, how many. Of several agents these
#: four stand in ``others``, a mapping for each
IMPRESS = Task("impression", schema, values=values, check=check, offline=offline)
