"""The life of an exam: one agent among six others, who is asked without a trace."""

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import mesa
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import configure, register_policy
from mesa_memory.core.records import CONSOLIDATED, DERIVED, MemoryRecord
from mesa_memory.core.render import count_tokens
from mesa_memory.experiments.exam.intrusions import Heard
from mesa_memory.experiments.exam.items import (
    INTERVALS,
    KINDS,
    RIGHT,
    SPEAKERS,
    ExamItem,
    Judge,
    Maker,
    Telling,
    small_talk,
)
from mesa_memory.experiments.measures.holdings import HeldRecord, holdings
from mesa_memory.experiments.measures.questionnaires import answer_text
from mesa_memory.runtime.services import Services

#: name of the examinee
OWNER = "Nora"
#: lines of small talk in each step
SMALL_TALK = 2
#: records of a recall in which an item may be found
FOUND_AMONG = 3
#: where an item was lost
STAGES = (
    "", "never written", "lost in a consolidation", "dropped", "kept, not recalled",
    "recalled, cut", "shown, not used",
)  # fmt: skip
NEVER_WRITTEN, CONSOLIDATION, DROPPED, NOT_RECALLED, CUT, NOT_USED = STAGES[1:]


class ExamSpeaker(mesa.Agent):
    """Speaks to the examinee."""

    def __init__(self, model: mesa.Model, name: str) -> None:
        super().__init__(model)
        self.name = name


class Examinee(LLMAgent):
    """Hears what it is told, and reads its memory once in each step."""

    def step(self) -> None:
        """One step, as of an agent that decides something from its memory."""
        self.memory.get_prompt_ready()


class Life(mesa.Model):
    """A life of items and small talk, in which each item is asked for once.

    Args:
        llm: whom memory and examinee ask, see ``configure``.
        language: of the sentences and the prompts, see ``items.languages``.
        length: of the life, in steps.
        kinds, intervals: of the items.
        ask: put each question to the language model, too.
        rng: seed of names, numbers and order.

    Attributes:
        marks: a row for each item that was asked, see ``Exam``.
        sizes: tokens of the memory that is shown, after each step.
        intrusions: sentences made by the memory, and those that state what no event does.
    """

    def __init__(
        self,
        llm: Any = "offline",
        language: str = "en",
        length: int = 120,
        kinds: Sequence[str] = KINDS,
        intervals: Sequence[int] = INTERVALS,
        ask: bool = True,
        rng: Any = None,
    ) -> None:
        super().__init__(rng=rng)
        configure(self, llm=llm, language=language)
        self.ask, self._seed = ask, rng
        self.items = Maker(rng, language, length).items(kinds, intervals)
        self.judge = Judge(self.items, language)
        self.heard = Heard(SPEAKERS, OWNER, language == "de")
        self._talk = small_talk(language)
        nobody = register_policy("examinee", lambda turn: "")
        self.examinee = Examinee(self, CoTReasoning, nobody)
        self.examinee.name = OWNER
        self.people = [ExamSpeaker(self, name) for name in SPEAKERS]
        self._told: dict[int, list[Telling]] = defaultdict(list)
        for item in self.items:
            for telling in item.tellings:
                self._told[telling.step].append(telling)
        self.marks: list[dict[str, Any]] = []
        self.sizes: list[int] = []
        self.intrusions: Counter[str] = Counter()
        self._fates: dict[str, str] = {}
        Services.of(self).observers.append(self)

    def step(self) -> None:
        """The people speak, the examinee lives its step, and what is due is asked."""
        for telling in self._sayings():
            self.heard.add(telling.text, SPEAKERS[telling.speaker])
            said = {
                "message": telling.text,
                "sender": self.people[telling.speaker].unique_id,
                "recipients": [self.examinee.unique_id],
            }
            self.examinee.memory.add_to_memory("message", said)
        self.examinee.step()
        Services.of(self).flush()
        held = holdings(self)
        # Other packages' memories note no reads.
        with getattr(self.examinee.memory, "peek", nullcontext)():
            shown = self.examinee.memory.get_prompt_ready()
        self.sizes.append(count_tokens(shown))
        self.marks += [
            self._mark(item, shown, held)
            for item in self.items
            if item.asked == self.steps
        ]

    def get_state(self) -> dict[str, Any]:
        """What an exam has so far; see ``mesa_memory.resume``."""
        return {
            "marks": self.marks,
            "sizes": self.sizes,
            "intrusions": dict(self.intrusions),
            "fates": self._fates,
            "heard": self.heard.said,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Takes up a ``get_state``."""
        self.marks, self.sizes = state["marks"], state["sizes"]
        self.intrusions = Counter(state["intrusions"])
        self._fates = state["fates"]
        for text, speaker in state["heard"]:
            self.heard.add(text, speaker)

    def _sayings(self) -> list[Telling]:
        """What is told in this step: items and small talk, in random order."""
        chance = random.Random(f"exam {self._seed} {self.steps}")
        talk = [
            Telling(self.steps, chance.randrange(len(SPEAKERS)), text)
            for text in chance.sample(self._talk, SMALL_TALK)
        ]
        return [*self._told[self.steps][:1], *talk, *self._told[self.steps][1:]]

    def _mark(
        self, item: ExamItem, shown: str, held: list[HeldRecord]
    ) -> dict[str, Any]:
        row: dict[str, Any] = {
            "kind": item.kind,
            "variant": item.variant,
            "interval": item.interval,
            "step": self.steps,
            "shown": self.judge.shown(item, shown),
            "found": None,
            "answered": None,
            "answer": None,
        }
        recalled = self._recalled(item.question, FOUND_AMONG, held)
        if recalled is not None:
            row["found"] = self.judge.shown(item, recalled)
        if self.ask:
            row["answer"] = answer_text(self.examinee, item.question)
            row["answered"] = self.judge.answered(item, row["answer"])
        row["stage"] = self._stage(item, row, held)
        return row

    def _recalled(
        self, question: str | None, k: int | None, held: list[HeldRecord]
    ) -> str | None:
        """The recalled records as lines; None for a memory that recalls nothing."""
        memory: Any = self.examinee.memory
        if not getattr(memory, "rankers", list)():
            return None
        with memory.peek():
            found = {each.record.id for each in memory.recall(question, k)}
        texts = {h.record.id: h.text for h in held if h.record.id in found}
        return "\n".join(f"- {text}" for text in texts.values())

    def _stage(
        self, item: ExamItem, row: dict[str, Any], held: list[HeldRecord]
    ) -> str:
        """Where the item was lost; empty if it was not."""
        if row["shown"] == RIGHT:
            return NOT_USED if row["answered"] not in (None, RIGHT) else ""
        lines = "\n".join(f"- {each.text}" for each in held)
        if self.judge.shown(item, lines) == RIGHT:
            recalled = self._recalled(None, None, held)
            if recalled is None or self.judge.shown(item, recalled) == RIGHT:
                return CUT
            return NOT_RECALLED
        told = [f"{each.step} {each.text}" for each in item.tellings]
        if not all(each in self._fates for each in told):
            return NEVER_WRITTEN
        fates = {self._fates[each] for each in told}
        return CONSOLIDATION if CONSOLIDATED in fates else DROPPED

    def opened(self, record: MemoryRecord) -> None:
        """What a memory has made is judged at once; see ``Observer``."""
        if (key := _telling(record)) is not None:
            self._fates.setdefault(key, "")
        elif record.origin == DERIVED:
            found = self.heard.judged(str(record.content.get("text", "")))
            self.intrusions["sentences"] += len(found)
            self.intrusions["intrusions"] += sum(found)

    def graded(self, record: MemoryRecord) -> None:
        """Grades tell nothing here."""

    def closed(self, record: MemoryRecord) -> None:
        """Keeps the reason."""
        if (key := _telling(record)) is not None:
            self._fates[key] = record.closed_because or ""


def _telling(record: MemoryRecord) -> str | None:
    """Step and words of a message; None for anything else."""
    if record.kind != "message" or record.origin == DERIVED:
        return None
    return f"{record.step:g} {record.content.get('message')}"
