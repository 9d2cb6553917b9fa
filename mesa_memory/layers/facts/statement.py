"""A statement about a subject, with its speakers, steps and strength."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from mesa_memory.core.records import EVENT, MemoryRecord
from mesa_memory.core.text.naming import name_key
from mesa_memory.core.wording import Wording
from mesa_memory.tasks.offline.attributes import canonical

#: of the records
KIND = "fact"
#: fields without which a record of that kind is not one of a statement
_FIELDS = {"subject", "attribute", "value", "speakers", "since"}
_ARTICLE = re.compile(r"^(?:the|an?)\s+")


@dataclass(frozen=True)
class FactStatement:
    """A value of an attribute of a subject, with its speakers.

    Attributes:
        subject: as it is shown.
        attribute: its name, as it was stated.
        about: unique id of the agent that is the subject; None if no agent is.
        holds: False if it is denied, or said to be over.
        several: True if the subject can have several such values at once.
        changed: True if it was said that the value has changed; of a denial, that it
            was so until then.
        disputed: True if a judge has found that it and an older statement of the topic
            cannot both hold.
        before: the value that it took the place of, and since when that held; empty
            without one.
        speakers: unique ids of those whose words these are, in order; None among them
            is what the agent saw itself.
        quoting: the person quoted by the speaker; empty without one.
        since: step of the event that stated it first.
        last: step of the newest event that stated it.
        strength: how many events stated it.
        gate: the write gate's verdict, by name.
    """

    subject: str
    attribute: str
    value: str
    about: Any = None
    holds: bool = True
    several: bool = False
    changed: bool = False
    disputed: bool = False
    before: tuple[Any, ...] = ()
    speakers: tuple[Any, ...] = ()
    quoting: str = ""
    since: float = 0
    last: float = 0
    strength: int = 1
    gate: Mapping[str, bool] = field(default_factory=dict)

    @classmethod
    def of(cls, record: MemoryRecord) -> Self:
        """The statement of a record; content set by hand is read as text."""
        return cls.of_content(record.content, record.subject, record.step)

    @classmethod
    def of_content(
        cls, given: Mapping[str, Any], about: Any = None, step: float = 0
    ) -> Self:
        """The statement that a record's content tells.

        Args:
            about: unique id of the agent that is the subject, if it is one.
            step: of the record.
        """
        speakers = given["speakers"]
        several = isinstance(speakers, list | tuple)
        since = _step(given["since"], step)
        strength = given.get("strength")
        gate = given.get("gate")
        return cls(
            str(given["subject"]),
            str(given["attribute"]),
            str(given["value"]),
            about,
            given.get("holds", True) is not False,
            bool(given.get("several")),
            bool(given.get("changed")),
            bool(given.get("disputed")),
            tuple(given.get("before") or ()),
            tuple(who for who in speakers if _is_id(who)) if several else (),
            str(given.get("quoting") or ""),
            since,
            max(since, _step(given.get("last"), since)),
            strength if isinstance(strength, int) and strength > 0 else 1,
            gate if isinstance(gate, Mapping) else {},
        )

    @property
    def about_what(self) -> str:
        """The beginning of its text: subject and attribute."""
        return f"{self.subject}: {self.attribute}: "

    def said(self, wording: Wording) -> str:
        """Its value, within a sentence that denies it if it does not hold."""
        if self.holds:
            return self.value
        return wording.told("no longer" if self.changed else "denied", text=self.value)

    def text(self, wording: Wording) -> str:
        """Subject, attribute and value, on one line."""
        return f"{self.about_what}{self.said(wording)}"

    def content(self, wording: Wording) -> dict[str, Any]:
        """The content of its record."""
        content = {
            "text": self.text(wording),
            "subject": self.subject,
            "attribute": self.attribute,
            "value": self.value,
            "holds": self.holds,
            "several": self.several,
            "changed": self.changed,
            "speakers": list(self.speakers),
            "quoting": self.quoting,
            "since": self.since,
            "last": self.last,
            "strength": self.strength,
            "gate": dict(self.gate),
        }
        if self.disputed:
            content["disputed"] = True
        return content | ({"before": list(self.before)} if self.before else {})

    @property
    def topic(self) -> tuple[Any, ...]:
        """Its topic; statements of one topic are the same or exclude each other."""
        who = ("agent", self.about) if self.about is not None else bare(self.subject)
        value = [bare(self.value)] * self.several
        return (who, canonical(self.attribute), *value)

    @property
    def says(self) -> tuple[str, bool]:
        """Its value and whether it holds; a repeated statement has the same."""
        return bare(self.value), self.holds

    @property
    def seen(self) -> bool:
        """True if the agent saw it itself."""
        return None in self.speakers

    def ends(self, older: "FactStatement", me: Any = None, cited: bool = False) -> bool:
        """True if an older statement does not hold any more.

        A reported change and an observation end another value of the topic; otherwise
        only its own speakers do. A denial or a change that cites what it ends needs no
        more. Hearsay never ends an observation; the agent's own words do if they report
        a change or cite it.

        Args:
            me: unique id of the agent that remembers.
            cited: True if the statement names the older one as one of its sources.
        """
        if self.since < older.since or self.says == older.says:
            return False
        if older.seen and not (self.seen or me in self.speakers):
            return False
        if cited and older.holds and (self.changed or not self.holds):
            denied = not self.holds and bare(self.value) == bare(older.value)
            if denied or self.topic[:2] == older.topic[:2]:
                return True
        settled = self.holds and not older.holds  # a value makes the denial useless
        if self.topic != older.topic or not (settled or self.contradicts(older)):
            return False
        if self.changed or self.seen:
            return True
        return not older.seen and set(older.speakers) <= set(self.speakers)

    def contradicts(self, other: "FactStatement") -> bool:
        """True if both cannot hold at once."""
        same = bare(self.value) == bare(other.value)
        if self.holds == other.holds:
            return self.holds and not same and not self.several
        return same


def is_fact(record: MemoryRecord) -> bool:
    """True for the record of a statement."""
    return record.kind == KIND and is_statement(record.content, record.origin)


def is_statement(content: Any, origin: str | None) -> bool:
    """True if a record of ``KIND`` is one of a statement; an event may have that kind, too."""
    fits = isinstance(content, Mapping) and content.keys() >= _FIELDS
    return fits and origin != EVENT


def bare(text: str) -> str:
    """The text by which two subjects or values are compared: a key without article."""
    return _ARTICLE.sub("", name_key(text)).strip(" .,;!\"'")


def _is_id(value: Any) -> bool:
    return value is None or (isinstance(value, int | str) and value is not True)


def _step(value: Any, otherwise: float) -> float:
    fits = isinstance(value, int | float) and not isinstance(value, bool)
    return value if fits and math.isfinite(value) else otherwise
