"""Facts in generated worlds: what is remembered of homes, offices, belongings and moods.

    python -m benchmarks.facts [--worlds 20] [--steps 40] [--offline] [--json]

In each step three neighbours tell an agent what has happened. What a sentence states is
known, as the world has made it, so only what the memory does with it is measured: each
memory is given the same events and the same facts of them (``--offline``: what the rules
of ``tasks/statements.py`` make of the sentences). Questions, of each world:

- *current*: the value of an attribute now;
- *at a step*: its value at an earlier step;
- *two hops*: where the holder of an office lives;
- *premise*: of a fact that rests on another one which has changed since, is it known that
  it may not hold? (*false alarms*: of facts whose premise has not changed)
- *conflict*: two neighbours say different things; are both values and both speakers named?

Peers: *episodic* is ``EpisodicMemory``; its reader is shown the ten best memories for the
question, knows what each states, and believes the newest. *Judge* is what mem0's first
version does, with our offline judge in the model's place: the statement is compared with
the five nearest facts by embedding, and one that it is about is overwritten; it has no
steps, speakers or evidence.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.tables import options, show
from mesa_memory import EpisodicMemory, FactMemory, OfflineLLM, ScriptedLLM
from mesa_memory.embedders.static import StaticEmbedder
from mesa_memory.layers.facts.statement import bare
from mesa_memory.tasks import JUDGE
from mesa_memory.tasks.offline.attributes import canonical
from tests.support.single import memory_of

PEOPLE = ("Ada", "Bela", "Carl", "Dana", "Emil", "Fay")
PLACES = ("the mill", "the inn", "the tower", "Oak Street", "the harbour", "the abbey")
OFFICES = ("the mayor", "the judge", "the captain")
THINGS = ("the boat", "the lantern", "the horse", "the ring")
MOODS = ("sad", "happy", "angry", "calm", "proud")
SPEAKERS = (2, 3, 4)
KINDS = ("current", "at a step", "two hops", "premise", "false alarms", "conflict")
#: how an attribute may be called; the last is one that needs a judge
NAMES = {
    "home": ("home", "lives in", "residence", "dwelling place"),
    "holder": ("holder", "held by", "incumbent", "holder of office"),
    "owner": ("owner", "belongs to", "possessor", "owner by law"),
    "mood": ("mood", "feeling", "feels", "state of mood"),
    "letters": ("letters",),
}


@dataclass(frozen=True)
class Told:
    """A sentence, and what it states."""

    step: int
    speaker: int
    text: str
    subject: str
    attribute: str
    value: str
    premise: tuple[str, str, str] | None = None
    changed: bool = False


@dataclass
class World:
    """What happens, and what is true of it at each step.

    Attributes:
        truth: by (subject, attribute), the values and since which step.
        disputed: what two speakers said differently.
    """

    told: list[Told] = field(default_factory=list)
    truth: dict[tuple[str, str], list[tuple[int, str]]] = field(default_factory=dict)
    disputed: dict[tuple[str, str], list[tuple[int, str]]] = field(default_factory=dict)

    @classmethod
    def made(cls, seed: int, steps: int) -> "World":
        """A world of so many steps; the same for the same seed."""
        world, dice = cls(), random.Random(seed)
        for step in range(1, steps + 1):
            for _ in range(3):
                world._happens(step, dice)
        for person in PEOPLE[:4]:  # who delivers whose letters, and where
            homes = world.truth.get((person, "home"))
            if homes:
                world._depends(person, *homes[-1], dice)
        for number, person in enumerate(PEOPLE[:2]):
            if (person, "home") in world.truth:
                world._moves(steps + 2 + number, person, dice)
        for place in dice.sample(PLACES, 2):
            world._disputes(steps + 4, f"the cellar of {bare(place)}", dice)
        return world

    def value(self, topic: tuple[str, str], step: int) -> str | None:
        """What was true at a step."""
        known = [value for since, value in self.truth[topic] if since <= step]
        return known[-1] if known else None

    def _happens(self, step: int, dice: random.Random) -> None:
        attribute = dice.choice(("home", "home", "holder", "owner", "mood"))
        if attribute == "home":
            self._moves(step, dice.choice(PEOPLE), dice)
        elif attribute == "mood":
            self._is(step, dice.choice(PEOPLE), "mood", dice.choice(MOODS), dice)
        else:
            subjects = OFFICES if attribute == "holder" else THINGS
            self._is(step, dice.choice(subjects), attribute, dice.choice(PEOPLE), dice)

    def _moves(self, step: int, person: str, dice: random.Random) -> None:
        self._is(step, person, "home", dice.choice(PLACES), dice)

    def _is(
        self, step: int, subject: str, attribute: str, value: str, dice: random.Random
    ) -> None:
        known = self.truth.setdefault((subject, attribute), [])
        changed = bool(known) and known[-1][1] != value
        if not known or changed:
            known.append((step, value))
        forms = {
            "home": ("{s} lives at {v}.", "{s} has moved to {v}."),
            "holder": ("{v} is {s}.", "{v} became {s}."),
            "owner": ("{s} belongs to {v}.", "{v} bought {s}."),
            "mood": ("{s} is {v}.", "{s} became {v}."),
        }
        text = forms[attribute][changed].format(s=subject, v=value)
        speaker = dice.choice(SPEAKERS)
        self.told.append(
            Told(step, speaker, text, subject, attribute, value, None, changed)
        )

    def _depends(self, person: str, since: int, home: str, dice: random.Random) -> None:
        step = self.told[-1].step + 1
        subject = f"{person}'s mail"
        text = f"Since {person} lives at {home}, {subject} is at {home}."
        premise = (person, "home", home)
        speaker = dice.choice(SPEAKERS)
        self.told.append(Told(step, speaker, text, subject, "letters", home, premise))

    def _disputes(self, step: int, subject: str, dice: random.Random) -> None:
        values = dice.sample(PEOPLE, 2)
        for speaker, value in zip(SPEAKERS, values):
            text = f"{subject} belongs to {value}."
            self.told.append(Told(step, speaker, text, subject, "owner", value))
        self.disputed[subject, "owner"] = list(zip(SPEAKERS, values))

    def premises(self) -> Iterator[tuple[Told, bool]]:
        """What rests on something, and whether that has changed since."""
        for told in self.told:
            if told.premise:
                person, attribute, home = told.premise
                yield told, self.truth[person, attribute][-1][1] != home

    @property
    def end(self) -> int:
        """The last step."""
        return max(told.step for told in self.told)


class Extractor:
    """Answers what sentences state, as the world knows it, under changing names."""

    def __init__(self, world: World, seed: int) -> None:
        self._by_text = {(t.step, t.speaker, t.text): t for t in world.told}
        self._dice = random.Random(seed)

    def extract(self, request: Any) -> dict[str, Any]:
        """The facts of a request's events."""
        facts = []
        known, count = request.inputs["known"], len(request.inputs["lines"])
        for number, line in enumerate(request.inputs["lines"], 1):
            step, _, said = line.removeprefix("Step ").partition(": ")
            speaker, _, told = said.removeprefix("Agent ").partition(" to ")
            text = told.partition(": ")[2]
            told = self._by_text[int(step), int(speaker), text]
            names = NAMES[told.attribute]
            often = [12] * (len(names) - 1) + [1] if len(names) > 1 else [1]
            name = self._dice.choices(names, often)[0]
            rests = [
                count + place
                for place, fact in enumerate(known, 1)
                if told.premise is not None
                and fact["attribute"] in NAMES[told.premise[1]]
                and (fact["subject"], fact["value"]) == told.premise[::2]
            ]
            facts.append(
                {"subject": told.subject, "attribute": name, "value": told.value,
                 "sources": [number, *rests], "changed": told.changed}
            )  # fmt: skip
        return {"facts": facts}


def lives(memory: Any, world: World) -> Any:
    """An agent's memory after the world's events."""
    steps: dict[int, list[Told]] = {}
    for told in world.told:
        steps.setdefault(told.step, []).append(told)
    for step in range(1, world.end + 1):
        memory.agent.model.steps = step
        for told in steps.get(step, ()):
            content = {"message": told.text, "sender": told.speaker}
            memory.add_to_memory("message", content)
        memory.process_step()
    return memory


class Facts:
    """``FactMemory``, asked by its methods."""

    def __init__(self, world: World, seed: int, offline: bool) -> None:
        extractor = Extractor(world, seed)
        offline_judge = OfflineLLM()
        rules = {"extract": extractor.extract, "judge": offline_judge.complete}
        llm = OfflineLLM() if offline else ScriptedLLM(rules=rules)
        self.memory = lives(memory_of(FactMemory, llm), world)
        reader = self.memory.layers[1].reader
        self.judged, self.stated = reader.judged, reader.stated

    def value(self, topic: tuple[str, str], step: int | None = None) -> str | None:
        """The newest value, now or at a step."""
        subject, names = topic[0], set(map(canonical, NAMES[topic[1]]))
        found = [
            record
            for record in self.memory.facts(at=step)
            if bare(record.content["subject"]) == bare(subject)
            and canonical(record.content["attribute"]) in names
            and record.content["holds"]
        ]
        newest = max(found, key=lambda r: r.content["last"], default=None)
        return newest and newest.content["value"]

    def doubts(self, told: Told) -> bool:
        """True if it is known that a fact may not hold."""
        found = [
            record
            for record in self.memory.facts()
            if bare(told.subject) in bare(record.content["subject"])
        ]
        return not found or all(r.stale_since is not None for r in found)

    def named(self, subject: str) -> str:
        """What is shown of a disputed subject."""
        shown = self.memory.format_long_term().splitlines()
        return "\n".join(line for line in shown if bare(subject) in bare(line))


class Episodic:
    """``EpisodicMemory``, with a reader who believes the newest of ten memories."""

    def __init__(self, world: World, seed: int, offline: bool) -> None:
        self.world = world
        alike = partial(EpisodicMemory, importance=lambda record: 3)
        self.memory = lives(memory_of(alike), world)
        self._told = {(t.step, t.speaker, t.text): t for t in world.told}

    def _recalled(self, question: str, step: int | None = None) -> list[Told]:
        records = [r.record for r in self.memory.recall(question, 10, until=step)]
        keys = [(r.step, r.content["sender"], r.content["message"]) for r in records]
        return sorted((self._told[key] for key in keys), key=lambda told: told.step)

    def value(self, topic: tuple[str, str], step: int | None = None) -> str | None:
        """The newest of what is recalled of it."""
        found = [
            told.value
            for told in self._recalled(f"What is the {topic[1]} of {topic[0]}?", step)
            if (told.subject, told.attribute) == topic
        ]
        return found[-1] if found else None

    def doubts(self, told: Told) -> bool:
        """Nothing says that what was said once does not hold any more."""
        return not any(t == told for t in self._recalled(f"Where is {told.subject}?"))

    def named(self, subject: str) -> str:
        """What is recalled of a disputed subject."""
        told = self._recalled(f"Who owns {subject}?")
        return "\n".join(f"Agent {t.speaker}: {t.text}" for t in told)


class Judge:
    """Facts as plain sentences: the nearest that a statement is about is overwritten."""

    def __init__(self, world: World, seed: int, offline: bool) -> None:
        self._embedder, self.kept = StaticEmbedder(), list[tuple[str, str, str]]()
        dice = random.Random(seed)
        rows: list[np.ndarray] = []
        for told in sorted(world.told, key=lambda told: told.step):
            name = dice.choice(NAMES[told.attribute])
            new = (told.subject, name, told.value)
            (row,) = self._embedder.embed([" ".join(new)])
            near = np.argsort([-float(row @ other) for other in rows])[:5].tolist()
            place = self._about(new, near)
            if place is None:
                self.kept.append(new)
                rows.append(row)
            else:
                self.kept[place], rows[place] = new, row

    def _about(self, new: tuple[str, str, str], near: list[int]) -> int | None:
        places = [place for place in near if self.kept[place][0] == new[0]]
        if not places:
            return None
        inputs = {
            "new": [_row(new) | {"may_be": list(range(len(places)))}],
            "known": [_row(self.kept[place]) for place in places],
        }
        assert JUDGE.offline is not None
        (decision,) = JUDGE.offline(inputs)["decisions"]
        return None if decision["operation"] == "ADD" else places[decision["fact"] - 2]

    def value(self, topic: tuple[str, str], step: int | None = None) -> str | None:
        """What is kept; it does not say since when."""
        names = NAMES[topic[1]]
        found = [v for s, a, v in self.kept if s == topic[0] and a in names]
        return found[-1] if found else None

    def doubts(self, told: Told) -> bool:
        """Nothing rests on anything."""
        return not any(told.subject == subject for subject, _, _ in self.kept)

    def named(self, subject: str) -> str:
        """What is kept of a disputed subject, without speakers."""
        return "\n".join(" ".join(kept) for kept in self.kept if kept[0] == subject)


def _row(fact: tuple[str, str, str]) -> dict[str, Any]:
    subject, attribute, value = fact
    line = f"{subject}: {attribute}: {value}"
    return {"line": line, "attribute": attribute, "value": value, "holds": True}


SYSTEMS: dict[str, Any] = {"facts": Facts, "episodic": Episodic, "judge": Judge}


def asked(system: Any, world: World, seed: int) -> Iterator[tuple[str, bool]]:
    """(kind, right) of each question."""
    dice, end = random.Random(seed), world.end
    for topic in world.truth:
        yield "current", _same(system.value(topic), world.value(topic, end))
        first = world.truth[topic][0][0]
        step = dice.randint(first, end)
        yield "at a step", _same(system.value(topic, step), world.value(topic, step))
    for office in OFFICES:
        holder = world.truth.get((office, "holder"), [(0, "")])[-1][1]
        if (holder, "home") in world.truth:
            found = system.value((office, "holder"))
            home = found and system.value((found, "home"))
            yield "two hops", _same(home, world.value((holder, "home"), end))
    for told, changed in world.premises():
        yield ("premise" if changed else "false alarms"), system.doubts(told)
    for (subject, _), sides in world.disputed.items():
        shown = system.named(subject)
        named = all(f"Agent {who}" in shown and value in shown for who, value in sides)
        yield "conflict", named


def _same(one: str | None, other: str | None) -> bool:
    return one is not None and other is not None and bare(one) == bare(other)


def measure(worlds: int, steps: int, offline: bool) -> dict[str, Any]:
    """Shares of right answers by system and kind, and how often a judge was asked."""
    answers, judged, stated = [], 0, 0
    for seed in range(worlds):
        world = World.made(seed, steps)
        for name, kind in SYSTEMS.items():
            system = kind(world, seed, offline)
            judged += getattr(system, "judged", 0)
            stated += getattr(system, "stated", 0)
            answers += [(name, *found) for found in asked(system, world, seed)]
    frame = pd.DataFrame(answers, columns=["memory", "kind", "right"])
    shares = frame.pivot_table("right", "memory", "kind").reindex(columns=KINDS)
    counts = (
        frame[frame["memory"] == "facts"]["kind"]
        .value_counts()
        .reindex(KINDS, fill_value=0)
    )
    return {
        "shares": shares.to_dict("index"),
        "questions": counts.to_dict(),
        "judged": judged / max(stated, 1),
    }


def main() -> None:
    """Prints the shares, in percent."""
    given = options(__doc__, worlds=20, steps=40, offline=False)
    found = measure(given.worlds, given.steps, given.offline)
    rows = [
        {"memory": name} | {kind: 100 * shares[kind] for kind in KINDS}
        for name, shares in found["shares"].items()
    ]
    rows.append({"memory": "(questions)"} | {k: found["questions"][k] for k in KINDS})
    show("Right answers, in percent", rows, 1, given.json)
    print(f"a judge was asked about {found['judged']:.1%} of the statements")


if __name__ == "__main__":
    main()
