"""Facts that events state: subject, attribute, value and speaker.

One request does three things: it names the facts, says of each whether it is worth
keeping (the write gate), and, if wanted, brings a short summary up to date. The
model is not asked for the newer of two values: code compares the steps of the events.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, field_validator

from mesa_memory.core.text.replies import Unusable, check_text, is_blank
from mesa_memory.tasks.base import Inputs, ListReply, Numbers, Schema, Task, wording_of
from mesa_memory.tasks.consolidate import BULLET
from mesa_memory.tasks.consolidate import offline as consolidated
from mesa_memory.tasks.grounding import DROPPED, check_summary, doubt_of
from mesa_memory.tasks.offline.statements import Voices, statements

#: what the write gate asks of a statement
GATE = ("fact", "stable", "useful")
#: longest name of a subject or an attribute, and longest value
NAME_CHARS, VALUE_CHARS = 120, 400
#: a reply has at most so many facts, or as many as events
MAX_FACTS = 8
#: longest summary, and the most sentences in it
SUMMARY_CHARS, SUMMARY_SENTENCES = 1200, 5
#: between the parts of a fact in the prompt's example
_COMMA = re.compile("[,，、] *")


class StatedFact(BaseModel):
    """One thing that an event states."""

    subject: str
    attribute: str
    value: str
    speaker: str = ""
    sources: Numbers
    holds: bool = True
    changed: bool = False
    several: bool = False
    fact: bool = True
    stable: bool = True
    useful: bool = True

    @field_validator("subject", "attribute", "value", "speaker", mode="before")
    @classmethod
    def _text(cls, value: Any) -> Any:
        """Accepts a number or a yes, which models also send, and no text at all."""
        if isinstance(value, bool):
            return "yes" if value else "no"
        if value is None:
            return ""
        return str(value) if isinstance(value, int | float) else value


class Extraction(ListReply):
    """The facts that events state."""

    facts: list[StatedFact]


class SummarisedExtraction(Extraction):
    """The facts that events state, and a summary brought up to date."""

    summary: str


@dataclass(frozen=True)
class Candidate:
    """A statement that may become a fact.

    Attributes:
        subject, attribute, value, speaker, holds, changed, several: see ``StatedFact``.
        sources: places of the events that state it, from 0, in ascending order; empty
            if the reply named no event of the request, or copied the example's fact.
        witnessed: the places among them where the agent saw it itself.
        rests_on: places, among the known facts, of its premises.
        gate: the verdict, by the names in ``GATE``.
    """

    subject: str
    attribute: str
    value: str
    sources: tuple[int, ...]
    rests_on: tuple[int, ...] = ()
    speaker: str = ""
    holds: bool = True
    changed: bool = False
    several: bool = False
    gate: dict[str, bool] = field(default_factory=dict)
    witnessed: tuple[int, ...] = ()


@dataclass(frozen=True)
class Extracted:
    """The content of a reply.

    Attributes:
        summary: None if none was wanted.
    """

    candidates: list[Candidate]
    summary: str | None = None


def checked_gate(gate: Iterable[str]) -> tuple[str, ...]:
    """The properties that a statement must have to be stored.

    Raises:
        ValueError: if a name is not in ``GATE``.
    """
    if isinstance(gate, str) or not isinstance(gate, Iterable):
        raise ValueError(f"gate must be a list of some of {GATE}, got {gate!r}")
    names = tuple(gate)
    if any(name not in GATE for name in names):
        raise ValueError(f"gate must name some of {GATE}, got {gate!r}")
    return names


def schema(inputs: Inputs) -> Schema:
    """With a summary if one is wanted."""
    return Extraction if inputs["summary"] is None else SummarisedExtraction


def values(inputs: Inputs) -> dict[str, Any]:
    """The values of the prompt; numbers go on from events to known facts."""
    return {
        "lines": inputs["lines"],
        "known": [fact["line"] for fact in inputs["known"]],
        "most": max(MAX_FACTS, len(inputs["lines"])),
        "summarise": inputs["summary"] is not None,
        "summary": inputs["summary"],
    }


def check(reply: Extraction, inputs: Inputs) -> Extracted:
    """The candidates of a reply, in its order.

    Raises:
        Unusable: if no candidate names an event of the request, a text is empty or too
            long, or the summary is unrelated to the events.
    """
    events, known = len(inputs["lines"]), len(inputs["known"])
    found = []
    for item in reply.facts:
        _check_item(item)
        numbers = () if _is_example(item, inputs) else item.sources
        places = sorted({number - 1 for number in numbers})
        found.append(
            Candidate(
                *(_flat(item.subject), _flat(item.attribute), _flat(item.value)),
                tuple(place for place in places if 0 <= place < events),
                tuple(p - events for p in places if events <= p < events + known),
                _flat(item.speaker),
                *(item.holds, item.changed, item.several),
                {name: getattr(item, name) for name in GATE},
            )
        )
    if found and not any(candidate.sources for candidate in found):
        raise Unusable("no event", most=events)
    summary = getattr(reply, "summary", None)
    if summary is not None:
        summary = _flat(summary)
        check_text("summary", summary, SUMMARY_CHARS)
        lines = [*inputs["lines"], *(fact["line"] for fact in inputs["known"])]
        before = inputs["summary"] or ""
        about = {
            "lines": [(0, line) for line in lines],
            "summary": before,
            "max_chars": SUMMARY_CHARS,
        }
        check_summary(summary, about)
        both = f"{before} {summary}"
        if doubt_of(summary, about) == DROPPED and len(both) <= SUMMARY_CHARS:
            summary = both
    return Extracted(found, summary)


def _check_item(item: StatedFact) -> None:
    longest = {"subject": NAME_CHARS, "attribute": NAME_CHARS, "value": VALUE_CHARS}
    for name, limit in longest.items():
        text = getattr(item, name)
        if not text.strip():
            raise Unusable("empty", name=name)
        if len(text) > limit:
            raise Unusable("too long", name=name, chars=len(text), most=limit)


def _is_example(item: StatedFact, inputs: Inputs) -> bool:
    """True for blanks, or a fact of the worked example whose subject no line names."""
    if is_blank(item.subject):
        return True
    prompt = wording_of(inputs).files["extract"].parts["prompt"]
    told = ",".join((item.subject, item.attribute, item.value))
    lines = [*inputs["lines"], *(fact["line"] for fact in inputs["known"])]
    return f"({told}" in _COMMA.sub(",", prompt.replace("（", "(")) and not any(
        item.subject in line for line in lines
    )


def _flat(text: str) -> str:
    return " ".join(text.split())


def offline(inputs: Inputs) -> dict[str, Any]:
    """The statements of plain sentences, by rules; the summary keeps the weightiest."""
    facts: list[dict[str, Any]] = []
    for number, (speaker, listener, text) in enumerate(inputs["said"], 1):
        for found in statements(text, Voices(speaker or inputs["me"], listener)):
            premises = [
                len(inputs["lines"]) + place
                for place, fact in enumerate(inputs["known"], 1)
                if found.premise is not None and found.premise.says(fact)
            ]
            facts.append(
                found.as_dict() | {"speaker": speaker, "sources": [number, *premises]}
            )
    if inputs["summary"] is None:
        return {"facts": facts}
    given = {
        "summary": inputs["summary"],
        "lines": [(None, line) for line in inputs["lines"]],
        "wording": wording_of(inputs),
        "max_chars": SUMMARY_CHARS // 2,
    }
    told = consolidated(given)["summary"].split(BULLET)
    return {"facts": facts, "summary": BULLET.join(told[-SUMMARY_SENTENCES:])}


#: inputs: ``me``, the agent's name; ``lines``, the events, oldest first; ``said``, of
#: each the speaker, the only listener (empty if there is none) and the words; ``known``, facts with
#: ``line``, ``subject``, ``attribute`` and ``value``; the ``summary`` so far, or None if
#: none is wanted
EXTRACT = Task("extract", schema, values=values, check=check, offline=offline)
