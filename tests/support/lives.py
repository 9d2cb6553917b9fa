"""Random lives of a small town, with and without interruptions; both must be the same.

Two towns live the same life. One is read, copied, resumed, forked, configured again and
taken back to a checkpoint on the way; the other only acts. After each step agents must
remember the same in both, and the record of the first must hold exactly that.
"""

import copy
import gc
import pickle
import tempfile
from pathlib import Path
from typing import Any

import mesa
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
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
    Reflection,
    Services,
    ShortTermMemory,
    STLTMemory,
    checkpoint,
    configure,
    edit,
    erase,
    fork,
    implant,
    open_run,
    register_policy,
    resume,
    swap,
)

#: small, so that each of them soon has something to sum up or to forget
KINDS = {
    "short_term": lambda agent: ShortTermMemory(agent, n=2),
    "stlt": lambda agent: STLTMemory(agent, short_term_capacity=2),
    "long_term": LongTermMemory,
    "episodic": lambda agent: EpisodicMemory(
        agent, max_capacity=8, reflection=Reflection(), reflect_threshold=20
    ),
    "impression": lambda agent: ImpressionMemory(agent, update_every=2, n=2),
    "fact": lambda agent: FactMemory(agent, n=2, summary=True),
    "conversation": lambda agent: ConversationMemory(agent, 2, n=2, idle_steps=0),
    "narrative": lambda agent: NarrativeMemory(agent, 2, 20, keep_last=1),
    "unimatrix": LayeredMemory.unimatrix,
    "session": LayeredMemory.session,
    "story_engine": LayeredMemory.story_engine,
    "generative_agent": LayeredMemory.generative_agent,
}
SAID = (
    "Carl lives at the mill.",
    "Bob is the mayor.",
    "Bob is not the mayor.",
    "I trust Ann, she is my friend.",
    "The bridge is broken!",
    "Carl lives at the harbour.",
)
QUERY = "Who lives at the mill by the bridge?"
QUIET = register_policy("quiet", lambda turn: "Nothing.")


class Person(LLMAgent):
    """Sees the day, and tells the next one of it."""

    def step(self) -> None:
        """One day."""
        day = f"day {self.model.steps:g}"
        self.memory.add_to_memory("observation", {"text": f"It is {day}."})
        others = [agent for agent in self.model.agents if agent is not self]
        if others:
            self.send_message(SAID[int(self.model.steps) % len(SAID)], others[:1])


class Town(mesa.Model):
    """People with one kind of memory; some come later, and some leave."""

    def __init__(
        self, kind: str, execution: str = "blocking", record: Any = None, rng: Any = 1
    ) -> None:
        super().__init__(rng=rng)
        configure(self, llm="offline", execution=execution, record=record)
        self.kind, self.born = kind, 0
        for _ in range(2):
            self.newcomer()

    def newcomer(self) -> None:
        """One person more."""
        person = Person(self, CoTReasoning, QUIET)
        person.memory = KINDS[self.kind](person)
        self.born += 1

    def step(self) -> None:
        """All act."""
        self.agents.do("step")

    def get_state(self) -> dict[str, Any]:
        """Who was born, and who is here."""
        here = [agent.unique_id for agent in self.agents]
        return {"born": self.born, "here": here}

    def set_state(self, state: dict[str, Any]) -> None:
        """Takes it up again."""
        while self.born < state["born"]:
            self.newcomer()
        for agent in list(self.agents):
            if agent.unique_id not in state["here"]:
                agent.remove()


def told(record: Any) -> tuple:
    """What is compared of a record."""
    return (
        record.id, record.kind, record.step, record.content, record.importance,
        list(record.sources), record.origin, record.stale_since,
    )  # fmt: skip


def held(town: Town) -> dict[Any, list[tuple]]:
    """What each agent remembers."""
    Services.of(town).flush()
    return {
        agent.unique_id: sorted(map(told, agent.memory.current_records()))
        for agent in town.agents
    }


def shown(town: Town) -> dict[Any, tuple]:
    """What each agent is shown, and what a question brings to its mind."""
    found = {}
    for agent in town.agents:
        recall = getattr(agent.memory, "recall", None)
        came = [] if recall is None else recall(QUERY, 5)
        found[agent.unique_id] = (
            agent.memory.get_prompt_ready(),
            [(each.record.id, round(each.score, 9)) for each in came],
        )
    return found


agents = st.integers(0, 5)


class Lives(RuleBasedStateMachine):
    """The rules; ``town`` is interrupted, ``plain`` is not."""

    kinds = tuple(sorted(KINDS))

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory(prefix="mesa-memory-lives-")
        self._files = 0
        self.gone: set[str] = set()
        self.file: Path | None = None
        self.saved: tuple | None = None

    @initialize(
        kind=st.runner().flatmap(lambda self: st.sampled_from(self.kinds)),
        execution=st.sampled_from(["blocking", "deferred"]),
        recorded=st.booleans(),
    )
    def begin(self, kind: str, execution: str, recorded: bool) -> None:
        """Both towns begin."""
        self.file = self._new_file() if recorded else None
        self.town = Town(kind, execution, record=self.file)
        self.plain = Town(kind, execution)

    def _new_file(self) -> Path:
        self._files += 1
        return Path(self._folder.name) / f"{self._files}.sqlite"

    # -- what both do -----------------------------------------------------------------

    def _each(self, which: int) -> list[Any]:
        """The same agent in both towns."""
        return [
            list(model.agents)[which % len(model.agents)]
            for model in (self.town, self.plain)
        ]

    @rule(which=agents, text=st.sampled_from(SAID), sender=st.integers(1, 4))
    def hears(self, which: int, text: str, sender: int) -> None:
        """Somebody is told something between two steps."""
        for agent in self._each(which):
            content = {"message": text, "sender": sender}
            agent.memory.add_to_memory("message", content)

    @rule()
    def steps(self) -> None:
        """A day."""
        for model in (self.town, self.plain):
            model.step()
        self._compare()

    @rule(which=agents, number=st.integers(0, 30))
    def erases(self, which: int, number: int) -> None:
        """A record is taken out."""
        one, other = self._each(which)
        records = other.memory.current_records()
        if records:
            gone = records[number % len(records)].id
            for agent in (one, other):
                erase(agent, gone)
            self.gone.add(gone)

    @rule(which=agents, number=st.integers(0, 30))
    def edits(self, which: int, number: int) -> None:
        """A record says something else."""
        one, other = self._each(which)
        records = other.memory.current_records()
        if records:
            old = records[number % len(records)]
            texts = dict.fromkeys(("text", "message", "value"), "edited by hand")
            new = {name: texts.get(name, v) for name, v in old.content.items()}
            for agent in (one, other):
                edit(agent, old.id, new)
            self.gone.add(old.id)

    @rule(which=agents)
    def swaps(self, which: int) -> None:
        """Two people remember each other's life."""
        if len(self.plain.agents) > 1:
            for one, other in zip(self._each(which), self._each(which + 1)):
                swap(one, other)

    @rule(which=agents, text=st.sampled_from(SAID))
    def implants(self, which: int, text: str) -> None:
        """Somebody remembers a thing that never happened."""
        for agent in self._each(which):
            implant(agent, "message", {"message": text, "sender": 9})

    @rule(which=agents, number=st.integers(0, 5))
    def edits_facts(self, which: int, number: int) -> None:
        """A line is taken out of a file of facts."""
        one, other = self._each(which)
        if not hasattr(other.memory, "to_markdown"):
            return
        lines = other.memory.to_markdown().splitlines()
        facts = [line for line in lines if line.startswith("- ")]
        out = facts[number % len(facts)] if facts else None
        text = "\n".join(line for line in lines if line != out)
        for agent in (one, other):
            agent.memory.from_markdown(text)

    @rule(which=agents)
    def leaves(self, which: int) -> None:
        """Somebody leaves for good."""
        if len(self.plain.agents) > 1:
            for agent in self._each(which):
                agent.remove()

    @rule()
    def comes(self) -> None:
        """Somebody joins."""
        if self.plain.born < 4:
            for model in (self.town, self.plain):
                model.newcomer()

    @rule(which=agents)
    def takes_a_copy(self, which: int) -> None:
        """Somebody gets a copy of the own memory."""
        for agent in self._each(which):
            agent.memory = copy.deepcopy(agent.memory)

    # -- what must change nothing -----------------------------------------------------

    @rule(which=agents)
    def reads(self, which: int) -> None:
        """Somebody reads."""
        self._each(which)[0].memory.get_prompt_ready()

    @rule(which=agents)
    def recalls(self, which: int) -> None:
        """Somebody is asked."""
        memory = self._each(which)[0].memory
        if hasattr(memory, "recall"):
            memory.recall(QUERY, 3)

    @rule(turn=st.sampled_from(["blocking", "deferred", None]))
    def configures(self, turn: str | None) -> None:
        """The same again, or in another execution."""
        configure(self.town, llm="offline", max_pending_steps=10)
        if turn is not None:
            configure(self.town, execution=turn)

    @rule()
    def records_anew(self) -> None:
        """Another record begins."""
        self.file, self.saved = self._new_file(), None
        configure(self.town, record=self.file)

    @rule(kept=st.booleans())
    def copies(self, kept: bool) -> None:
        """A copy is made; it goes on if it is ``kept``."""
        twin = copy.deepcopy(self.town)
        if kept:
            self._end()
            self.town, self.file, self.saved = twin, None, None

    @rule(which=agents)
    def pickles(self, which: int) -> None:
        """A memory goes to another process."""
        agent = self._each(which)[0]
        again = pickle.loads(pickle.dumps(agent.memory))
        assert again.get_prompt_ready() == agent.memory.get_prompt_ready()

    @precondition(lambda self: self.file is not None and self._has_stepped())
    @rule(again=st.sampled_from([resume, fork]))
    def goes_on(self, again: Any) -> None:
        """The program ends, and another one goes on."""
        run = self._end()
        self._check_record(run)
        assert run is not None
        self._renew(again, run, None)

    @precondition(lambda self: self.file is not None and self._has_stepped())
    @rule(kept=st.booleans())
    def keeps(self, kept: bool) -> None:
        """A checkpoint is asked for, to go back to if it is ``kept``."""
        run, step = checkpoint(self.town)
        if kept:
            state = copy.deepcopy(self.plain), set(self.gone)
            self.saved = (run, step, *state)

    @precondition(lambda self: self.saved is not None and self.file is not None)
    @rule(again=st.sampled_from([resume, fork]))
    def goes_back(self, again: Any) -> None:
        """Back to the checkpoint."""
        run, step, plain, gone = self.saved  # type: ignore[misc]
        self._end()
        self._renew(again, run, step)
        self.plain, self.gone, self.saved = plain, gone, None

    # -- what must hold ---------------------------------------------------------------

    def _has_stepped(self) -> bool:
        recorder: Any = Services.of(self.town).recorder
        return recorder is not None and recorder.step is not None

    def _renew(self, again: Any, run: int, step: float | None) -> None:
        kind, execution = self.plain.kind, Services.of(self.plain).execution
        del self.town
        gc.collect()
        self.town = again(
            Town, self.file, step, run=run, kind=kind, execution=execution
        )

    def _end(self) -> int | None:
        """Closes the record; the number of the run."""
        recorder: Any = Services.of(self.town).recorder
        if recorder is not None:
            recorder.close()
        return getattr(recorder, "run", None)

    def _compare(self) -> None:
        here, there = held(self.town), held(self.plain)
        assert here == there
        assert shown(self.town) == shown(self.plain)
        ids = {record[0] for records in here.values() for record in records}
        assert not ids & self.gone
        if self._has_stepped():
            recorder: Any = Services.of(self.town).recorder
            recorder.sync()
            self._check_record(recorder.run)

    def _check_record(self, run: int | None) -> None:
        """The record holds what the agents do."""
        if self.file is None or run is None:
            return
        with open_run(self.file, run) as found:
            for agent, records in held(self.town).items():
                rows = [
                    (
                        row["id"], row["kind"], row["step"], row["content"],
                        row["importance"], row["sources"], row["origin"],
                        row["stale_since"],
                    )
                    for row in found.state(agent, as_records=True)
                ]  # fmt: skip
                assert sorted(rows) == records

    def teardown(self) -> None:
        """The life is over."""
        try:
            if hasattr(self, "town"):
                self.steps()
        finally:
            if hasattr(self, "town"):
                self._end()
                del self.town
            gc.collect()
            self._folder.cleanup()


def lives(*kinds: str) -> type[Lives]:
    """The rules for memories of these kinds; see ``KINDS``."""
    return type("Lives", (Lives,), {"kinds": kinds})
