"""What the people of the changing world say, and what they are asked: ``phrasings/*.toml``.

In a statement ``{v}`` is the new value and ``{n}`` the name of the one it is about; what
is said by oneself and what is said by others stand apart.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent / "phrasings"
#: what is said that changes nothing
TALK = ("chatter", "alarms")


@dataclass(frozen=True)
class Aspect:
    """Something about a person that changes.

    Attributes:
        every: mean number of steps between two changes.
        grades: how important a change is, drawn from these.
        values: what it can be.
        own, others: how a change is told by the person and by somebody else.
        now, then, before: how it is asked for: at present, at step ``{t}``, and before
            it became ``{v}``.
    """

    every: float
    grades: tuple[int, ...]
    values: tuple[str, ...]
    own: tuple[str, ...]
    others: tuple[str, ...]
    now: tuple[str, ...]
    then: tuple[str, ...]
    before: tuple[str, ...]


@dataclass(frozen=True)
class Fact:
    """Something about a person that never changes; told once, by the person."""

    values: tuple[str, ...]
    told: tuple[str, ...]
    asked: tuple[str, ...]


class Phrasing(NamedTuple):
    """All that a world can say: places, belongings, moods and offices, and facts."""

    aspects: tuple[Aspect, ...]
    facts: tuple[Fact, ...]


@cache
def table(name: str) -> dict[str, Any]:
    """The file of a phrasing."""
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def phrasing(name: str) -> Phrasing:
    """The phrases of a file; what it leaves out is that of ``plain.toml``."""
    plain, own = table("plain"), table(name)
    parts = [_tuples(plain[key] | own[key]) for key in own if key not in TALK]
    aspects = tuple(Aspect(**part) for part in parts if "every" in part)
    return Phrasing(aspects, tuple(Fact(**part) for part in parts if "told" in part))


def _tuples(part: dict[str, Any]) -> dict[str, Any]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in part.items()}
