"""The items of an exam: what an agent is told, when it is asked, and what is right.

Each item has names and a number of its own, drawn for each seed, so an answer is judged
by its values and not by its words.
"""

import random
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from mesa_memory.runs.claims.clauses import clauses, sentences

#: retention intervals, in steps
INTERVALS = (1, 2, 5, 10, 20, 40, 80)
#: kinds of items
KINDS = (
    "fact", "change", "contradiction", "source", "appointment", "order", "repeated",
    "lie", "like_names", "importance",
)  # fmt: skip
#: who speaks to the agent, besides each other
SPEAKERS = ("Ines", "Jon", "Tove", "Ravi", "Omar", "Lena")
#: judgements of an item that are no named error
RIGHT, NOTHING, OTHER = "right", "nothing", "other value"
#: steps between two tellings of an item
GAP = 2
_SYLLABLES = [one + two for one in "bdfgklmnprstvz" for two in "aeiou"]
_ENDS = "nlrsmk"
_VARIANTS = {"repeated": ("once", "five times"), "importance": ("important", "trivial")}
_TOLD_TWICE = ("change", "contradiction", "order", "lie", "like_names")
#: numbers of items; steps are smaller
_NUMBERS = range(401, 1000)
_STEP = re.compile(
    r"(?:step|schritt|étape|paso|passo|ステップ|第)\s*(\d+)", re.IGNORECASE
)


class Telling(NamedTuple):
    """A message of an item.

    Attributes:
        step: when it is told.
        speaker: place of the speaker in ``SPEAKERS``.
        text: its words.
    """

    step: int
    speaker: int
    text: str


type _Made = tuple[Any, ...]


@dataclass(frozen=True)
class ExamItem:
    """Something to be remembered, with its truth.

    Attributes:
        kind: one of ``KINDS``.
        variant: ``"once"`` or ``"five times"``, ``"important"`` or ``"trivial"``; else empty.
        interval: steps from the last telling to the question.
        tellings: oldest first.
        question: asked at the end of step ``asked``.
        key: names that a statement of the item has.
        right: values of the truth, each with the names that belong to it; all are wanted.
        errors: values that show an error, by its name; the first that is found counts.
    """

    kind: str
    variant: str
    interval: int
    tellings: tuple[Telling, ...]
    question: str
    key: tuple[str, ...]
    right: tuple[tuple[str, ...], ...]
    errors: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...] = ()

    @property
    def asked(self) -> int:
        """The step at whose end the question is put."""
        return self.tellings[-1].step + self.interval

    @property
    def name(self) -> str:
        """Unique in a life: ``"lie at 20"``."""
        return f"{self.variant or self.kind} at {self.interval}"


class Judge:
    """Judges what texts say of the items of one life.

    Args:
        items: of the life.
        language: of the texts.
    """

    def __init__(self, items: Iterable[ExamItem], language: str = "en") -> None:
        self._taken_back = _tables()[language]["taken_back"].split()
        self._values: dict[str, set[str]] = {}
        for item in items:
            values = {value for group in item.right for value in group}
            self._values.setdefault(item.kind, set()).update(values)

    def shown(self, item: ExamItem, text: str) -> str:
        """The judgement of a memory's text: a statement must name its key, too."""
        units = list(units_of(text))
        if item.kind == "order":
            return _order(item, units)
        return self._judged(item, [unit.text for unit in units], item.key)

    def answered(self, item: ExamItem, answer: str) -> str:
        """The judgement of an answer; the question has named the key."""
        if item.kind == "order":
            first, second = (_place(answer, name) for (name,) in item.right)
            if first < 0 and second < 0:
                return NOTHING
            return RIGHT if second < 0 or 0 <= first < second else "reversed"
        if item.kind == "source":  # who names several speakers has not answered
            [(error, others), _] = item.errors
            if any(has(answer, other) for other in others):
                return error
        return self._judged(item, [answer], ())

    def _judged(
        self, item: ExamItem, texts: Sequence[str], key: tuple[str, ...]
    ) -> str:
        def stated(group: tuple[str, ...]) -> list[str]:
            return [text for text in texts if has(text, (*key, *group))]

        if item.kind == "lie":
            # A lie is known if it is denied or said to be one.
            believed = stated(item.right[0])
            if any(map(self._denies, believed if key else texts)):
                return RIGHT
            return "still believed" if believed else NOTHING
        if all(stated(group) for group in item.right):
            return RIGHT
        for error, groups in item.errors:
            if any(stated(group) for group in groups):
                return error
        own = {value for group in item.right for value in group}
        others = sorted(self._values[item.kind] - own)
        return OTHER if any(stated((value,)) for value in others) else NOTHING

    def _denies(self, text: str) -> bool:
        said = text.casefold()
        return any(
            clause.denied for clause in clauses(text) if re.search(r"\d", clause.text)
        ) or any(_place(said, word) >= 0 for word in self._taken_back)


class Unit(NamedTuple):
    """A line of a list or a sentence, with the step that it names or stands under."""

    text: str
    step: int | None


def units_of(text: str) -> Iterator[Unit]:
    """The lines of lists and the sentences of a text, in order."""
    step: int | None = None
    for line in text.splitlines():
        if not line.strip():
            continue
        found = _STEP.search(line)
        if found and not line.lstrip().startswith("-"):
            step = int(found[1])
        own = int(found[1]) if found else step
        pieces = [line] if line.lstrip().startswith("-") else sentences(line)
        yield from (Unit(piece, own) for piece in pieces)


def has(text: str, words: Iterable[str]) -> bool:
    """True if a text has all these words, whole and in the same case."""
    return all(_place(text, word) >= 0 for word in words)


def _place(text: str, word: str) -> int:
    found = _word(word).search(text)
    return found.start() if found else -1


@cache
def _word(word: str) -> re.Pattern[str]:
    latin = word.isascii()
    edges = (r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])") if latin else ("", "")
    return re.compile(f"{edges[0]}{re.escape(word)}{edges[1]}")


def _order(item: ExamItem, units: Sequence[Unit]) -> str:
    """The judgement of an order: by the steps of both events, or by their places."""
    found = [
        [(unit.step, n) for n, unit in enumerate(units) if has(unit.text, group)]
        for group in item.right
    ]
    if not all(found):
        return "one alone" if any(found) else NOTHING
    (first, one), (second, other) = (places[0] for places in found)
    dated = first is not None and second is not None and first != second
    return RIGHT if ((first < second) if dated else (one < other)) else "reversed"  # type: ignore[operator]


@cache
def _tables() -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def languages() -> tuple[str, ...]:
    """The languages in which there are items."""
    return tuple(_tables())


def small_talk(language: str) -> list[str]:
    """Sentences that say nothing about any item."""
    return _tables()[language]["small"]


class Maker:
    """Makes the items of a life.

    Args:
        seed: of names, numbers and order.
        language: one of ``languages()``.
        steps: of the life; an item that does not fit into it is left out.
    """

    def __init__(self, seed: int, language: str, steps: int) -> None:
        self._random = random.Random(f"exam {seed}")
        self._words = _tables()[language]
        self._steps = steps
        self._taken: set[str] = set(SPEAKERS)
        self._numbers = self._random.sample(_NUMBERS, len(_NUMBERS))

    def items(self, kinds: Sequence[str], intervals: Sequence[int]) -> list[ExamItem]:
        """One item of each kind, variant and interval, by the step of the question."""
        found = []
        for interval in intervals:
            for kind in kinds:
                for variant in _VARIANTS.get(kind, ("",)):
                    if item := self._item(kind, variant, interval):
                        found.append(item)
        return sorted(found, key=lambda item: (item.asked, item.name))

    def _item(self, kind: str, variant: str, interval: int) -> ExamItem | None:
        """An item at a random step; None if the life is too short for it."""
        tells = 5 if variant == "five times" else 1 + (kind in _TOLD_TWICE)
        first = 1 + (tells - 1) * GAP
        if first + interval > self._steps:
            return None
        end = self._random.randint(first, self._steps - interval)
        words = self._words[variant if kind == "importance" else kind]
        make = getattr(self, f"_{kind}", self._value)
        told, question, *truth = make(*words)
        told *= tells // len(told)
        tellings = tuple(
            Telling(end - GAP * (tells - n), *each) for n, each in enumerate(told, 1)
        )
        return ExamItem(kind, variant, interval, tellings, question, *truth)

    # Each makes what is told (speaker and text, oldest first), the question, the names of
    # the key, the truth and the errors; see ``ExamItem``.

    def _value(self, tell: str, ask: str, numbered: bool = False) -> _Made:
        who, value = self._name(), self._number() if numbered else self._name()
        speaker = self._speaker()
        told = [(speaker, tell.format(who=who, value=value))]
        return told, ask.format(who=who, speaker=SPEAKERS[speaker]), (who,), ((value,),)

    def _appointment(self, tell: str, ask: str) -> _Made:
        return self._value(tell, ask, numbered=True)

    def _like_names(self, tell: str, ask: str) -> _Made:
        """A second person has the same name with one letter more."""
        [(speaker, text)], *rest = self._value(tell, ask, numbered=True)
        like, value = f"{rest[1][0]}a", self._number()
        self._taken.add(like)
        told = [(speaker, tell.format(who=like, value=value)), (speaker, text)]
        return told, *rest, (("the other one", ((value,),)),)

    def _change(self, tell: str, ask: str) -> _Made:
        who, values = self._name(), (self._number(), self._number())
        old, new = (((value,),) for value in values)
        speaker = self._speaker()
        told = [(speaker, tell.format(who=who, value=value)) for value in values]
        return told, ask.format(who=who), (who,), new, (("outdated", old),)

    def _contradiction(self, tell: str, ask: str) -> _Made:
        who, values = self._name(), (self._number(), self._number())
        speakers = self._random.sample(range(len(SPEAKERS)), 2)
        told = [
            (speaker, tell.format(who=who, value=value))
            for speaker, value in zip(speakers, values)
        ]
        names = [SPEAKERS[speaker] for speaker in speakers]
        right, mixed = tuple(zip(values, names)), tuple(zip(values, names[::-1]))
        alone = tuple((value,) for value in values)
        errors = (("mixed up", mixed), ("one alone", alone))
        return told, ask.format(who=who), (who,), right, errors

    def _source(self, tell: str, ask: str) -> _Made:
        who, speaker = self._name(), self._speaker()
        others = tuple((name,) for n, name in enumerate(SPEAKERS) if n != speaker)
        errors = (("another speaker", others), ("without a speaker", ((who,),)))
        told, right = [(speaker, tell.format(who=who))], ((SPEAKERS[speaker],),)
        return told, ask.format(who=who), (who,), right, errors

    def _order(self, tell: str, ask: str) -> _Made:
        names = self._name(), self._name()
        told = [(self._speaker(), tell.format(who=name)) for name in names]
        one, other = self._random.sample(names, 2)
        right = tuple((name,) for name in names)
        return told, ask.format(who=one, other=other), (), right

    def _lie(self, tell: str, ask: str, deny: str) -> _Made:
        who, value, speaker = self._name(), self._number(), self._speaker()
        told = [(speaker, text.format(who=who, value=value)) for text in (tell, deny)]
        return told, ask.format(who=who, speaker=SPEAKERS[speaker]), (who,), ((value,),)

    def _name(self) -> str:
        """A name that no other has, nor one like it."""
        while True:
            parts = self._random.choices(_SYLLABLES, k=2)
            name = "".join(parts).capitalize() + self._random.choice(_ENDS)
            if name not in self._taken and f"{name}a" not in self._taken:
                self._taken.add(name)
                return name

    def _number(self) -> str:
        return str(self._numbers.pop())

    def _speaker(self) -> int:
        return self._random.randrange(len(SPEAKERS))
