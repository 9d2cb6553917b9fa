"""A harbour of four people in eight steps, as one language model has once played it.

A debt is paid in two parts, a lie is admitted, a secret is kept and told, a meeting is
moved, a price is cut, two accuse each other. What people say is the plot; what they
answer when they are asked, and what their memories are answered, is what the model said.
"""

import gzip
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Self

import mesa
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import (
    ConversationMemory,
    EpisodicMemory,
    FactMemory,
    ImpressionMemory,
    LayeredMemory,
    LongTermMemory,
    NarrativeMemory,
    ScriptedLLM,
    STLTMemory,
    configure,
    register_policy,
)
from mesa_memory.layers import Reflection
from tests.support.single import DATA, table

#: what stands before the words of a line: step, speaker, hearers
_BEFORE = re.compile(
    r"^(?:Step [\d.]+: )?(?:[A-Z]\w+(?: to [\w, ]+): |(?:observation|reflection|"
    r"Concluded|You concluded): )?"
)
_LISTED = re.compile(r"^(?:(\d+)\. |- )(.*)$", re.MULTILINE)
_OTHER = re.compile(
    r"^(?:Observer: \w+\. )?Other agent (\d+): (\w+)\."
    r"|^What does \w+ think of ((?!each\b)\w+) now",
    re.MULTILINE,
)
#: an event that settles or refutes a fact, how that fact is told, and whether it was so
SETTLED = (
    (
        "Paid in full|Here are the hundred",
        "promise: to pay|debt.*(120|300)|condition|owes",
        True,
    ),
    ("we are even", "forty-five|Jon's share|pays ninety|crowns for the diesel", True),
    ("a boy from the campsite", "taken by somebody|missing", True),
    ("From tomorrow I'm the night", "could start", True),
    (r"I pay 3\.60", r"4\.20", True),
    ("never locked|left the fuel store open", ": locked|Jona: |gauge.*wrong", False),
    ("it was me", "Jon: fault|broken by: Jon", False),
)
#: an insight that does not follow any more from lines with such words
REFUTED = (
    ("Here are the hundred and twenty|Paid in full", "still|missing|only in part"),
    ("a boy from the campsite", "not known who|took the sixty"),
    ("taking a job", "told only Tove"),
)


@cache
def rows() -> list[dict[str, Any]]:
    """What was asked and replied: memory, step, agent, purpose, asked, reply."""
    packed = (DATA / "harbour.jsonl.gz").read_bytes()
    return [json.loads(row) for row in gzip.decompress(packed).decode().splitlines()]


def core(line: str) -> str:
    """The words of a line, without speaker, hearers and remarks in brackets."""
    return re.sub(r"( \([^()]*\))+$", "", _BEFORE.sub("", line)).strip()


def listed(asked: str) -> list[tuple[int, str]]:
    """The lines of data in a request: number (0 without), and words."""
    return [(int(n or 0), core(line)) for n, line in _LISTED.findall(asked)]


def content(reply: str) -> dict[str, Any]:
    """The JSON object in a reply."""
    return json.loads(reply[reply.index("{") : reply.rindex("}") + 1])


class Mind(ScriptedLLM):
    """Answers the requests of one kind of memory.

    Args:
        memory: its name in the file.

    Attributes:
        same: the rows of the file that were asked again, word for word.
        others: (purpose, agent, step, text) of all other requests.
        reads: answers the questions of a quiz, which the file lacks.
    """

    def __init__(self, memory: str) -> None:
        super().__init__(rules={"*": self.answer})
        self.rows = [row for row in rows() if row["memory"] == memory]
        self.same: list[dict[str, Any]] = []
        self.others: list[tuple[str, Any, float, str]] = []
        self.reads: Callable[[Any], str] = lambda request: "I do not know."

    def answer(self, request: Any) -> Any:
        """The reply to a request of a memory."""
        if request.purpose == "probe":
            return self.reads(request)
        asked = str(request.messages()[-1]["content"])
        known = self._known(request.purpose, request.agent, request.step)
        row = next((r for r in known if r["asked"] == asked), None)
        if row is not None and row["step"] == request.step:
            self.same.append(row)
            return row["reply"]
        self.others.append((request.purpose, request.agent, request.step, asked))
        return getattr(self, f"_{request.purpose}", self._retold)(known, asked)

    def decide(self, agent: Any, step: float, prompt: str, question: str) -> str:
        """The answer of an agent to a question, whatever it was shown."""
        known = self._known("reasoning", agent, step)
        row = next(r for r in known if r["asked"].endswith(question))
        if row["asked"] == prompt:
            self.same.append(row)
        else:
            self.others.append(("reasoning", agent, step, prompt))
        return str(row["reply"])

    def _known(self, purpose: str, agent: Any, step: float) -> list[dict[str, Any]]:
        """The rows of a purpose and an agent, those of the nearest steps first."""
        own = (purpose, agent)
        found = [r for r in self.rows if (r["purpose"], r["agent"]) == own]
        return sorted(found, key=lambda row: abs(row["step"] - step))

    def _grade(self, known: Sequence[Mapping], asked: str) -> dict[str, Any]:
        return {
            "grades": [
                {"event": number, "grade": self._grade_of(known, words)}
                for number, words in listed(asked)
                if number
            ]
        }

    def _grade_of(self, known: Sequence[Mapping], words: str) -> int:
        for row in known:
            of = dict(listed(row["asked"]))
            for item in content(row["reply"])["grades"]:
                if of.get(item["event"]) == words:
                    return int(item["grade"])
        return 3

    def _questions(self, known: Sequence[Mapping], asked: str) -> str:
        return str(known[0]["reply"])

    def _reflect(self, known: Sequence[Mapping], asked: str) -> dict[str, Any]:
        """The insights whose evidence is there; a line may refute old and new ones."""
        numbers = {words: number for number, words in listed(asked) if number}
        grades = [row for row in self.rows if row["purpose"] == "grade"]
        most = int(re.findall(r"at most (\d+)", asked)[-1])
        found = []
        for row in known:
            of = dict(listed(row["asked"]))
            for item in content(row["reply"])["insights"]:
                text, cited = item["insight"], map(of.get, item["evidence"])
                there = [numbers.get(words, 0) for words in cited]
                if all(there) and not _is_refuted(text, asked) and text not in numbers:
                    numbers[text] = 0
                    importance = self._grade_of(grades, text)
                    insight = {"insight": text, "evidence": there}
                    found.append(insight | {"importance": importance, "revises": []})
        over = [n for words, n in numbers.items() if n and _is_refuted(words, asked)]
        heading = asked.find("Conclusions so far:")
        before = len(listed(asked[:heading])) if heading >= 0 else len(numbers)
        return {"insights": found[:most], "withdrawn": [n for n in over if n > before]}

    def _extract(self, known: Sequence[Mapping], asked: str) -> dict[str, Any]:
        """The facts of the events at hand, and the known ones that they settle."""
        lines = [(n, words) for n, words in listed(asked) if n]
        events = dict(listed(asked.partition("Known facts")[0]))
        numbers = {words: n for n, words in lines}
        facts = []
        for row in known:
            of = dict(listed(row["asked"]))
            for fact in content(row["reply"])["facts"]:
                cited = [of.get(number, "") for number in fact["sources"]]
                there = [numbers[words] for words in cited if words in numbers]
                last = max((n for n in there if n in events), default=0)
                told = ": ".join(fact[k] for k in ("subject", "attribute", "value"))
                if cited[0] in events.values() and not _settling(told, events, last)[0]:
                    facts.append(fact | {"sources": there})
        over = [pair for pair in lines if pair[0] not in events]
        return {"facts": [*facts, *_settled(over, events)]}

    def _judge(self, known: Sequence[Mapping], asked: str) -> dict[str, Any]:
        """What the file says of two statements, else that they are about two things."""
        lines = {n: words for n, words in listed(asked) if n}
        decided = []
        for n in re.findall(r"^Statement (\d+) may", asked, re.MULTILINE):
            decision: dict[str, Any] = {"operation": "ADD", "fact": None}
            for row in known:
                of = dict(listed(row["asked"]))
                for item in content(row["reply"])["decisions"]:
                    fact = {words: n for n, words in lines.items()}.get(
                        of.get(item["fact"], "")
                    )
                    if of[item["statement"]] == lines[int(n)] and fact:
                        decision = {"operation": item["operation"], "fact": fact}
            decided.append({"statement": int(n), **decision})
        return {"decisions": decided}

    def _impression(self, known: Sequence[Mapping], asked: str) -> dict[str, Any]:
        found = [_view(known, who) for who in _others(asked)]
        numbered = [{"other": n, **view} for n, view in enumerate(found, 1)]
        several = "of each of them now" in asked
        return {"impressions": numbered} if several else found[0]

    def _retold(self, known: Sequence[Mapping], asked: str) -> Any:
        """A summary of the same lines, else what it was, and the lines as they are."""
        lines = [words for _, words in listed(asked)]
        for row in known:
            if {w for _, w in listed(row["asked"])[1:]} == set(lines[1:]):
                return row["reply"]
        told = re.findall(r"^- (.*)$", asked, re.MULTILINE)
        if "so far:" not in asked:  # a conversation
            return {"summary": " ".join(told)}
        kept = [] if told[0].startswith("(") or lines[0] in lines[1:] else told[:1]
        return {"summary": " ".join([*kept, *told[1:]])}


def _is_refuted(insight: str, asked: str) -> bool:
    """True if a line at hand says that an insight is not so any more."""
    return any(re.search(s, asked) and re.search(w, insight) for s, w in REFUTED)


def _settling(
    told: str, events: Mapping[int, str], since: int = 0
) -> tuple[list[int], bool]:
    """The later events that settle or refute a fact, and whether it was so; or none."""
    for event, fact, was in SETTLED:
        by = [n for n, said in events.items() if n > since and re.search(event, said)]
        if by and re.search(fact, told):
            return by, was
    return [], False


def _settled(
    known: Sequence[tuple[int, str]], events: Mapping[int, str]
) -> Iterator[dict[str, Any]]:
    """Denials of the known facts that the events at hand settle or refute."""
    for number, told in known:
        by, was = _settling(told, events)
        subject, *rest = told.split(": ", 2)
        if by and len(rest) == 2 and "denied" not in told:
            yield {
                "subject": subject, "attribute": rest[0], "value": rest[1],
                "speaker": "", "sources": [*by, number], "holds": False,
                "changed": was, "several": False, "fact": True, "stable": True,
                "useful": True,
            }  # fmt: skip


def _others(asked: str) -> list[str]:
    """The other agents whom a request for impressions is about."""
    return [numbered or alone for _, numbered, alone in _OTHER.findall(asked)]


def _view(known: Sequence[Mapping], who: str) -> dict[str, Any]:
    """What the file says of another agent, at the nearest step."""
    for row in known:
        reply = content(row["reply"])
        several = reply.get("impressions", [reply])
        for name, item in zip(_others(row["asked"]), several, strict=True):
            if name == who:
                keys = ("text", "sentiment", "familiarity")
                return {key: item[key] for key in keys}
    text = f"{who} is known by sight, and there is nothing to say yet."
    return {"text": text, "sentiment": 0.0, "familiarity": 0.1}


os.environ.setdefault("OPENAI_API_KEY", "none")  # Mesa-LLM wants one for each agent


MEMORIES: dict[str, Callable[[Any], Any]] = {
    "STLT": lambda agent: STLTMemory(agent, 2, 1),
    "LongTerm": LongTermMemory,
    "Episodic": lambda agent: EpisodicMemory(
        agent, reflection=Reflection.questions(2, 6, 2), reflect_threshold=25
    ),
    "Fact": FactMemory,
    "Impression": lambda agent: ImpressionMemory(agent, 2),
    "Conversation": lambda agent: ConversationMemory(agent, idle_steps=1),
    "Narrative": lambda agent: NarrativeMemory(agent, 4, 200, 2),
    "GenAgent": LayeredMemory.generative_agent,
}
#: how many steps were played, where not all eight were
STEPS = {"LongTerm": 5, "GenAgent": 6}
_PLOT = table("harbour_plot")
ROLES: dict[str, str] = _PLOT["roles"]
TASK = "Decide what you say and do in the harbour today."


class Harbour(mesa.Model):
    """The four people with one kind of memory.

    Args:
        memory: a key of ``MEMORIES``.
        **services: further arguments of ``configure``.

    Attributes:
        mind: the model that their memories ask.
        people: by name.
        heard: the names of all who said or heard a text.
        shown: what each was shown of its memory in the last step and after it.
        asked: (name, prompt, answer) of each question.
        last: the number of steps.
    """

    def __init__(self, memory: str, **services: Any) -> None:
        super().__init__(rng=1)
        self.mind, self.last = Mind(memory), STEPS.get(memory, 8)
        configure(self, **{"llm": self.mind, "execution": "blocking", **services})
        policy = register_policy("harbour", lambda turn: self.asked[-1][2])
        self.people: dict[str, Any] = {}
        for name, role in ROLES.items():
            person = LLMAgent(
                self, CoTReasoning, policy, system_prompt=role, step_prompt=TASK
            )
            person.name = name
            person.memory = MEMORIES[memory](person)
            self.people[name] = person
        self.heard: dict[str, set[str]] = {}
        self.shown: dict[str, list[str]] = {name: [] for name in ROLES}
        self.asked: list[tuple[str, str, str]] = []

    def live(self) -> Self:
        """All steps, and a look at each memory after them."""
        for _ in range(self.last):
            self.step()
        for name, person in self.people.items():
            self.shown[name].append(person.memory.get_prompt_ready())
        return self

    def step(self) -> None:
        """The lines of the plot; then each is asked, and its memory ends the step."""
        for step, who, hearers, said in _PLOT["plot"]:
            if step == self.steps:
                self.say(who, hearers, said)
        for name, person in self.people.items():
            person.memory.process_step(pre_step=True)
            for step, who, hearers, question in _PLOT["asked"]:
                if (step, who) == (self.steps, name):
                    self.say(who, hearers, self.ask(who, question))
            if self.steps == self.last:
                self.ask(name, _PLOT["last"].replace("STEP", str(self.steps)))
                self.shown[name].append(person.memory.get_prompt_ready())
            person.memory.process_step()

    def say(self, who: str, hearers: Sequence[str] | None, said: Any) -> None:
        """A message, to all others without hearers; an observation is a dict."""
        me = self.people[who]
        if isinstance(said, dict):
            me.memory.add_to_memory("observation", said)
            return
        to = [n for n in ROLES if n in (hearers or ROLES) and n != who]
        self.heard[said] = {who, *to}
        me.send_message(said, [self.people[name] for name in to])

    def ask(self, who: str, question: str) -> str:
        """Asks somebody who is shown its memory; answers as in the file."""
        me = self.people[who]
        prompt = f"{me.memory.get_prompt_ready()}\n\n{question}"
        answer = self.mind.decide(me.unique_id, self.steps, prompt, question)
        self.asked.append((who, prompt, answer))
        return me.llm.generate(prompt).choices[0].message.content
