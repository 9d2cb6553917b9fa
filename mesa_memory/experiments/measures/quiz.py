"""A quiz about messages that agents really heard; each question is asked twice.

Questions are made by rules from recorded messages: was this said to you, by whom, when,
who else heard it, which of two came first. Lures, which only others heard, make false
premises. Each question is put with the agent's memory before it, and with the events of
the steps in question in its place. So "the memory lost it" is told from "the model ignored it".
"""

import random
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from functools import cache
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

from mesa_memory.core.events import event_text
from mesa_memory.core.render import at_step
from mesa_memory.experiments.exam.items import has
from mesa_memory.experiments.measures.questionnaires import (
    Answer,
    Questionnaire,
    answer_text,
)
from mesa_memory.experiments.measures.questions import Question
from mesa_memory.experiments.measures.retention import Said, message_rows, said_in
from mesa_memory.hosts.mesa import clock
from mesa_memory.memories.host.interventions import memory_of
from mesa_memory.runs.claims.claim import is_telling
from mesa_memory.runtime.services import Services
from mesa_memory.statistics.recognition import d_prime

#: kinds of questions; the premise of the last two is false
KINDS = ("heard", "source", "when", "company", "order", "lure", "false source")
#: judgements of an answer
RIGHT, WRONG, UNKNOWN = "right", "wrong", "unknown"
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
#: the two readings of each question
READINGS = ("memory", "events")


class QuizItem(NamedTuple):
    """A question with its truth.

    Attributes:
        kind: one of ``KINDS``.
        question: as it is put.
        steps: of the events in question.
        options: words that an answer may choose from.
        right: those that it must have; none if the premise is false.
        number: the only number that it must have, in place of options.
    """

    kind: str
    question: str
    steps: tuple[float, ...]
    options: frozenset[str]
    right: frozenset[str]
    number: float | None = None

    def judged(self, answer: str) -> str:
        """``"right"``, ``"unknown"`` (none of the options) or ``"wrong"``."""
        if self.number is not None:
            numbers = set(map(float, _NUMBER.findall(answer)))
            return _verdict(numbers, {self.number})
        said = answer.casefold()
        found = {each for each in self.options if has(said, [each.casefold()])}
        return _verdict(found, self.right)


def _verdict(found: Set[Any], right: Set[Any]) -> str:
    """The judgement of an answer by what was found in it."""
    return RIGHT if found == right else WRONG if found else UNKNOWN


class MemoryQuiz(Questionnaire):
    """Asks agents of a recorded model for what they heard, without any trace in them.

    An answer's ``value`` has ``kind``, ``item`` and ``step`` of the event, and for each
    reading, ``"memory"`` and ``"events"``, the ``answer`` and how it is ``judged``.

    Args:
        every, at: the schedule, see ``Questionnaire``.
        items: messages and lures of each agent that are asked for each time.
        agents: see ``Questionnaire``.
        questions: of your own, each with a ``truth``; beside the memory, they are put with
            all messages that the agent heard.
    """

    judges = True

    def __init__(
        self,
        every: int | None = None,
        at: Iterable[float] = (),
        items: int = 5,
        agents: Any = None,
        questions: Iterable[Question] = (),
    ) -> None:
        words = _tables()["en"]
        self.own = tuple(questions)
        lacking = [each.name for each in self.own if each.truth is None]
        if lacking:
            raise ValueError(
                f"a quiz judges answers: the question {lacking[0]!r} needs a truth, such as "
                "truth=lambda model, agent: model.price"
            )
        made = [Question(kind, words[kind.split()[-1]]) for kind in KINDS]
        super().__init__([*made, *self.own], every, at, agents)
        self.items = items

    def ask(self, model: Any) -> list[Answer]:
        """Puts the quiz now; see ``Questionnaire.ask``.

        Raises:
            StudyError: if the model is not recorded.
        """
        Services.of(model).flush()
        rows, now = message_rows(model), clock(model)
        found = []
        for agent in self.chosen(model):
            events = _events(agent, rows)
            asked = [_of_truth(each, agent, events) for each in self.own]
            for item in (*self.made(agent, list(said_in(rows)), now), *asked):
                read = "\n".join(line for step in item.steps for line in events[step])
                value: dict[str, Any] = {"kind": item.kind, "item": item.question}
                for reading, text in zip(READINGS, (None, read)):
                    answer = answer_text(agent, item.question, text)
                    value[reading] = {"answer": answer, "judged": item.judged(answer)}
                value["step"] = item.steps[0] if item.steps else now
                found.append(Answer(now, agent.unique_id, item.kind, value))
        return found

    def made(self, agent: Any, said: list[Said], now: float) -> Iterator[QuizItem]:
        """The questions to an agent, repeatable for one agent and step."""
        me, view = str(agent.unique_id), memory_of(agent).view()
        words = _words(agent)
        called = {str(a.unique_id): view.names(a.unique_id) for a in agent.model.agents}
        people = frozenset(name for key, name in called.items() if key != me)
        uses = Counter((each.agent, each.text) for each in said)
        known = {text for who, text in uses if who == me}
        heard = [
            e for e in said
            if e.agent == me != e.sender and uses[me, e.text] == 1 and is_telling(e.text)
        ]  # fmt: skip
        lures = [e for e in said if e.text not in known and is_telling(e.text)]
        chance = random.Random(f"quiz {now:g} {me}")
        heard, lures = (
            chance.sample(several, min(self.items, len(several)))
            for several in (heard, list({e.text: e for e in lures}.values()))
        )
        yes_no = frozenset([words["yes"], words["no"]])
        steps = frozenset(f"{step + 1}" for step in range(int(now)))

        def item(kind: str, each: Said, options: frozenset, *right: str) -> QuizItem:
            text = words[kind.rsplit(maxsplit=1)[-1]].format(text=each.text)
            return QuizItem(kind, text, (each.step,), options, frozenset(right))

        for each in heard:
            also = {e.agent for e in said if e[0] == each[0] and e[2:] == each[2:]}
            others = [called[who] for who in sorted(also - {me, each.sender})]
            yield item("heard", each, yes_no, words["yes"])
            yield item("source", each, people, called.get(each.sender, each.sender))
            yield item("when", each, steps, f"{each.step:g}")
            if others:
                options = people - {called.get(each.sender)}
                yield item("company", each, options, *others)
        for one, other in zip(heard[::2], heard[1::2]):
            if one.step != other.step:
                text = words["order"].format(one=one.text, other=other.text)
                first = "1" if one.step < other.step else "2"
                both, options = (one.step, other.step), frozenset("12")
                yield QuizItem("order", text, both, options, frozenset(first))
        for each in lures:
            yield item("lure", each, yes_no, words["no"])
            yield item("false source", each, people)


def _of_truth(question: Question, agent: Any, steps: Iterable[float]) -> QuizItem:
    """A user's question with what is right now."""
    assert question.truth is not None
    truth, options = question.truth(agent.model, agent), frozenset(question.choices)
    number = None
    if isinstance(truth, bool):
        words = _words(agent)
        options = frozenset([words["yes"], words["no"]])
        truth = words["yes"] if truth else words["no"]
    elif isinstance(truth, Real):
        number = float(truth)
    right = frozenset([str(truth)])
    asked = question.name, question.text, tuple(steps)
    return QuizItem(*asked, options or right, right, number)


def quiz_shares(values: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Shares of right answers by kind, and d' of recognition, for each reading.

    Args:
        values: of the answers of a ``MemoryQuiz``.

    Returns:
        ``{reading: {kind: share, …, "d'": …}}``; d' is there if old and new were asked.
    """
    found: dict[str, dict[str, float]] = {}
    rows = list(values)
    for reading in READINGS:
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for row in rows:
            counts[row["kind"]][row[reading]["judged"]] += 1
        shares = {k: c[RIGHT] / c.total() for k, c in counts.items()}
        if "heard" in counts and "lure" in counts:
            old, new = counts["heard"], counts["lure"]
            shares["d'"] = d_prime(old[RIGHT], old.total(), new[WRONG], new.total())
        found[reading] = shares
    return found


def _events(agent: Any, rows: Iterable[Mapping[str, Any]]) -> dict[float, list[str]]:
    """The messages of an agent as lines, by step."""
    memory = memory_of(agent)
    view, limit = memory.view(), memory.event_chars
    voice, found = view.own_voice, defaultdict(list)
    for row in rows:
        if str(row["agent"]) == str(agent.unique_id):
            line = event_text("message", row["content"], limit, voice)
            line = at_step(f"{row['step']:g}", line, view.wording)
            found[float(row["step"])].append(f"- {line}")
    return found


def _words(agent: Any) -> dict[str, str]:
    """Those of the questions, in the language of an agent."""
    language = memory_of(agent).view().wording.language
    return _tables().get(language, _tables()["en"])


@cache
def _tables() -> dict[str, dict[str, str]]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
