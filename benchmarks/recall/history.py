"""A generated world that changes, as one observer remembers it.

Twenty people change their homes, belongings, moods and offices at irregular times. Each
change is told once, by the person or by somebody else, in one of several phrasings,
among the talk of the day, which names the same people, places and things. The questions
are about the present, about the past, and about what never changes.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.recall.corpus import Corpus, Item, Question
from benchmarks.recall.phrases import Aspect, Fact, Phrasing, phrasing, table

#: how changes and facts are told: in the words one asks with, in others, round about
PHRASINGS: dict[str, Phrasing] = {
    name: phrasing(name) for name in ("direct", "plain", "oblique")
}
PLAIN = table("plain")

#: steps between two changes of one aspect, at least
PAUSE = 5
#: share of the changes that somebody else tells
HEARSAY = 0.3
#: how many things are said in a step that change nothing
TALK = range(3, 7)
ALARM = 0.02
#: how the talk of the day is graded
TALK_GRADES = (1, 1, 1, 2, 2, 3)


@dataclass(frozen=True)
class Statement:
    """A change, or a fact, and how it is told."""

    step: int
    value: str
    teller: str
    text: str
    grade: int


def world(
    seed: int, people: int = 20, steps: int = 500, phrasing: str = "direct"
) -> Corpus:
    """The memory of one observer and the questions to it; the same for a seed.

    Args:
        seed: of all that is drawn.
        people: at least 2.
        steps: how long the world lasts, at least 100; the questions come at the end.
        phrasing: one of ``PHRASINGS``.

    Raises:
        ValueError: if there are too few people or steps, or no such phrasing.
    """
    if phrasing not in PHRASINGS:
        raise ValueError(f"phrasing must be one of {[*PHRASINGS]}, got {phrasing!r}")
    if people < 2 or steps < 100:
        raise ValueError(
            f"a world has 2 people and 100 steps or more, got {people} and {steps}"
        )
    return World(random.Random(seed), people, steps).corpus(*PHRASINGS[phrasing])


@dataclass(frozen=True)
class Talk:
    """What is said that changes nothing, and how a line of speech is told.

    Attributes:
        chatter, alarms: of the day; see ``plain.toml``.
        values: by the letter that stands for one of them in the chatter.
        line: of a step, a teller and a text.
    """

    chatter: Sequence[str] = tuple(PLAIN["chatter"])
    alarms: Sequence[str] = tuple(PLAIN["alarms"])
    values: Mapping[str, Sequence[str]] = field(
        default_factory=lambda: {
            letter: PLAIN[name]["values"]
            for letter, name in zip("pgmo", ("place", "belonging", "mood", "office"))
        }
    )
    line: str = "Step {step}: {teller} says: {text}"


class World:
    """A world in the making."""

    def __init__(
        self, draw: random.Random, people: int, steps: int, talk: Talk | None = None
    ) -> None:
        self.draw, self.steps, self.talk = draw, steps, talk or Talk()
        self.names = [f"Agent {number}" for number in range(1, people + 1)]
        self.said: list[tuple[int, int, Statement]] = []  # step, order in it, what
        self.questions: list[tuple[str, Statement, str]] = []

    def corpus(self, aspects: Iterable[Aspect], facts: Iterable[Fact]) -> Corpus:
        """Everything that was said, in order, and the questions."""
        for name in self.names:
            for aspect in aspects:
                self._live(name, aspect)
            for fact in facts:
                self._tell(name, fact)
        self._talk()
        self.said.sort(key=lambda said: said[:2])
        statements = [statement for *_, statement in self.said]
        ids = {id(told): f"world/{n}" for n, told in enumerate(statements, 1)}
        items = [
            Item(
                ids[id(told)],
                told.step,
                told.teller,
                self.talk.line.format(**vars(told)),
                told.text,
                told.grade,
            )
            for told in statements
        ]
        questions = [
            Question(text, (ids[id(told)],), kind)
            for text, told, kind in self.questions
        ]
        return Corpus(items, questions, self.steps)

    def _say(self, statement: Statement) -> Statement:
        # Where in its step something is said is drawn, too.
        self.said.append((statement.step, self.draw.randrange(1 << 30), statement))
        return statement

    def _live(self, name: str, aspect: Aspect) -> None:
        """One person's history of one aspect, and the questions about it."""
        step, told = self.draw.randrange(1, round(aspect.every)), []
        for value in self.draw.sample(aspect.values, len(aspect.values)):
            if step > self.steps:
                break
            told.append(self._say(self._change(name, aspect, step, value)))
            rest = aspect.every - PAUSE
            step += PAUSE + round(self.draw.expovariate(1 / rest))
        if told:
            text = self.draw.choice(aspect.now).format(n=name)
            self.questions.append((text, told[-1], "present"))
        if len(told) > 1:
            self._ask_back(name, aspect, told)

    def _change(self, name: str, aspect: Aspect, step: int, value: str) -> Statement:
        if self.draw.random() < HEARSAY:
            teller = self.draw.choice([other for other in self.names if other != name])
            text = self.draw.choice(aspect.others)
        else:
            teller, text = name, self.draw.choice(aspect.own)
        said = text.format(n=name, v=value)
        return Statement(step, value, teller, said, self.draw.choice(aspect.grades))

    def _ask_back(self, name: str, aspect: Aspect, told: list[Statement]) -> None:
        """Two questions about the past: by a step, and by what came next."""
        step = self.draw.randrange(told[0].step, told[-1].step)
        valid = max((old for old in told if old.step <= step), key=lambda s: s.step)
        text = self.draw.choice(aspect.then).format(n=name, t=step)
        self.questions.append((text, valid, "past: at a step"))
        later = self.draw.randrange(1, len(told))
        text = self.draw.choice(aspect.before).format(n=name, v=told[later].value)
        self.questions.append((text, told[later - 1], "past: before"))

    def _tell(self, name: str, fact: Fact) -> None:
        value, step = self.draw.choice(fact.values), self.draw.randint(1, self.steps)
        said = self.draw.choice(fact.told).format(v=value)
        told = Statement(step, value, name, said, self.draw.choice((2, 3, 4)))
        asked = self.draw.choice(fact.asked).format(n=name)
        self.questions.append((asked, self._say(told), "unchanged"))

    def _talk(self) -> None:
        for step in range(1, self.steps + 1):
            for _ in range(self.draw.choice(TALK)):
                self._chat(step, self.talk.chatter, TALK_GRADES)
            if self.draw.random() < ALARM and self.talk.alarms:
                self._chat(step, self.talk.alarms, (4, 5))

    def _chat(self, step: int, lines: Sequence[str], grades: tuple[int, ...]) -> None:
        teller, other = self.draw.sample(self.names, 2)
        line = self.draw.choice(lines)
        drawn = {key: self.draw.choice(some) for key, some in self.talk.values.items()}
        text = line.format(**drawn, n=other)
        self._say(Statement(step, "", teller, text, self.draw.choice(grades)))
