"""Random lives of a small town, with and without interruptions; both must be the same.

Two towns live the same life. One is read, copied, resumed, forked, configured again and
taken back to a checkpoint on the way; the other only acts. After each step agents must
remember the same in both, and the record of the first must hold exactly that.
"""

import mesa_memory  # noqa: F401, I001 - first, as README says

import copy
import gc
import pickle
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import mesa
import pandas
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import (
    Services,
    checkpoint,
    configure,
    fork,
    open_run,
    register_policy,
    resume,
)
from mesa_memory.experiments import Study
from mesa_memory.interventions import (
    biography,
    edit,
    erase,
    exchange,
    implant,
    replace_memory,
)
from mesa_memory.layers import Reflection
from mesa_memory.memories.registry import find

#: small, so that each of them soon has something to sum up or to forget
SMALL: dict[str, dict[str, Any]] = {
    "short_term": {"n": 2},
    "stlt": {"short_term_capacity": 2},
    "episodic": {
        "max_capacity": 8, "reflection": Reflection(), "reflect_threshold": 20,
    },
    "impression": {"update_every": 2, "n": 2},
    "fact": {"n": 2, "summary": True},
    "conversation": {"short_term_turns": 2, "n": 2, "idle_steps": 0},
    "narrative": {"chapters": 2, "story_tokens": 20, "keep_last": 1},
}  # fmt: skip
KINDS = (
    "short_term", "stlt", "long_term", "episodic", "impression", "fact",
    "conversation", "narrative", "unimatrix", "session", "story_engine",
    "generative_agent",
)  # fmt: skip
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


def small(kind: str) -> partial:
    """A memory that soon has something to sum up or to forget."""
    return partial(find(kind), **SMALL.get(kind, {}))


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
        self.planned: Callable[[Person], Any] | None = None
        for _ in range(2):
            self.newcomer()

    def newcomer(self) -> None:
        """One person more."""
        person = Person(self, CoTReasoning, QUIET)
        person.memory = small(self.kind)(person)
        self.born += 1

    def step(self) -> None:
        """All act; what is ``planned`` is done after the first of them."""
        first, *others = self.agents
        first.step()
        if self.planned is not None:
            self.planned(first)
        for agent in others:
            agent.step()

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


def ended(town: Town) -> dict[Any, list[tuple]]:
    """The former records that each memory still holds."""
    return {
        agent.unique_id: [
            (*told(record), record.valid_to, record.closed_because)
            for record in agent.memory.held_records()
            if not record.current
        ]
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


#: kinds whose recalls count as accesses
REFRESHING = ("generative_agent",)
#: people that a town has in all
MOST_BORN = 4


@dataclass(frozen=True)
class Change:
    """A change by hand, of one agent or of two.

    Attributes:
        kind: name of the method of ``Lives`` that makes it.
        which: number of the agent.
        number: of the record or the fact.
    """

    kind: str = "nothing"
    which: int = 0
    number: int = 0


KINDS_OF_CHANGE = (
    "nothing", "hears", "implants", "erases", "erases", "edits", "exchanges",
    "leaves", "comes", "takes_a_copy", "replaces", "is_told_who_it_is",
)  # fmt: skip
a_change = st.builds(
    Change, st.sampled_from(KINDS_OF_CHANGE), st.integers(0, 3), st.integers(0, 30)
)


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
        recorded=st.sampled_from(["itself", "itself", "by a study", ""]),
        days=st.integers(0, 4),
    )
    def begin(self, kind: str, execution: str, recorded: str, days: int) -> None:
        """Both towns begin; the first may be a finished run of a study."""
        self.file = self._new_file() if recorded else None
        if recorded == "by a study" and days:
            memory = {"small": small(kind)}
            factors = {"kind": kind, "execution": execution, "memory": memory}
            study = Study(Town, factors, seeds=[1], steps=days, store=self.file)
            study.run("serial", progress=False)
            (arm,) = study.arms.values()
            self.town = self.plain = arm.make()
            for _ in range(days):
                self.plain.step()
            self._renew(resume, 1, None)
            self._compare()
            return
        self.town = Town(kind, execution, record=self.file)
        self.plain = Town(kind, execution)
        for _ in range(days):
            self.steps()

    def _new_file(self) -> Path:
        self._files += 1
        return Path(self._folder.name) / f"{self._files}.sqlite"

    # -- what both do -----------------------------------------------------------------

    @rule()
    def steps(self) -> None:
        """A day."""
        for model in (self.town, self.plain):
            model.step()
        self._compare()

    @rule(number=st.integers(0, 30))
    def steps_with_an_edit(self, number: int) -> None:
        """A day; within it a record of the first is edited."""
        gone: list[str] = []

        def edits(person: Any) -> None:
            records = person.memory.current_records()
            if records:
                gone.append(self._edit(person, records[number % len(records)].id))

        self.town.planned = self.plain.planned = edits
        try:
            self.steps()
        finally:
            self.town.planned = self.plain.planned = None
        assert len(set(gone)) <= 1
        self.gone.update(gone)

    @rule(change=a_change)
    def changes(self, change: Change) -> None:
        """Something is changed in both towns, between two steps."""
        pairs = [
            [list(model.agents)[n % len(model.agents)] for n in range(change.which, change.which + 2)]
            for model in (self.town, self.plain)
        ]  # fmt: skip
        getattr(self, f"_{change.kind}")(pairs, change.number)

    def _nothing(self, pairs: list, number: int) -> None:
        pass

    def _hears(self, pairs: list, number: int) -> None:
        content = {"message": SAID[number % len(SAID)], "sender": 1 + number % 4}
        for one, _ in pairs:
            one.memory.add_to_memory("message", content)

    def _implants(self, pairs: list, number: int) -> None:
        content = {"message": SAID[number % len(SAID)], "sender": 9}
        for one, _ in pairs:
            implant(one, "message", content)

    def _erases(self, pairs: list, number: int) -> None:
        records = pairs[1][0].memory.current_records()
        if records:
            gone = records[number % len(records)].id
            for one, _ in pairs:
                erase(one, gone)
            self.gone.add(gone)

    def _edits(self, pairs: list, number: int) -> None:
        records = pairs[1][0].memory.current_records()
        if records:
            old = records[number % len(records)].id
            for one, _ in pairs:
                self._edit(one, old)
            self.gone.add(old)

    def _edit(self, person: Any, record: str) -> str:
        (old,) = [r for r in person.memory.current_records() if r.id == record]
        texts = dict.fromkeys(("text", "message", "value"), "edited by hand")
        edit(
            person,
            record,
            {name: texts.get(name, v) for name, v in old.content.items()},
        )
        return record

    def _replaces(self, pairs: list, number: int) -> None:
        for one, _ in pairs:
            replace_memory(one, self._other(number))

    def _other(self, number: int) -> Any:
        """The memory that they have, or another one."""
        return small(([self.plain.kind] * 3 + list(KINDS))[number % (3 + len(KINDS))])

    def _is_told_who_it_is(self, pairs: list, number: int) -> None:
        for one, _ in pairs:
            table = {"id": [one.unique_id], "home": [SAID[number % len(SAID)]]}
            biography([one], pandas.DataFrame(table))

    def _exchanges(self, pairs: list, number: int) -> None:
        for one, other in pairs:
            kinds = {self._layers(each) for each in (one, other)}
            if one is not other and len(kinds) == 1:
                exchange(one, other)

    @staticmethod
    def _layers(person: Any) -> tuple:
        return type(person.memory), *[layer.name for layer in person.memory.layers]

    def _leaves(self, pairs: list, number: int) -> None:
        if len(self.plain.agents) > 1:
            for one, _ in pairs:
                one.remove()

    def _comes(self, pairs: list, number: int) -> None:
        if self.plain.born < MOST_BORN:
            for model in (self.town, self.plain):
                model.newcomer()

    def _takes_a_copy(self, pairs: list, number: int) -> None:
        for one, _ in pairs:
            one.memory = copy.deepcopy(one.memory)

    # -- what must change nothing; a change may follow at once ---------------------------

    @rule(which=st.integers(0, 3), pickled=st.booleans())
    def looks(self, which: int, pickled: bool) -> None:
        """Somebody reads and is asked; the memory may go to another process.

        The paper's agents keep best what they read and recalled last, so they read in
        both towns.
        """
        both = self.plain.kind in REFRESHING
        for model in (self.town, self.plain) if both else (self.town,):
            memory = list(model.agents)[which % len(model.agents)].memory
            again = pickle.loads(pickle.dumps(memory)) if pickled else memory
            text = memory.get_prompt_ready()
            assert both or again.get_prompt_ready() == text
            if hasattr(memory, "recall"):
                memory.recall(QUERY, 3)

    @rule(execution=st.sampled_from(["blocking", "deferred"]), then=a_change)
    def configures(self, execution: str, then: Change) -> None:
        """The same again, in another execution."""
        configure(self.town, llm="offline", execution=execution)
        self.changes(then)

    @rule(then=a_change)
    def records_anew(self, then: Change) -> None:
        """Another record begins."""
        self.file, self.saved = self._new_file(), None
        configure(self.town, record=self.file)
        self.changes(then)

    @rule(recorded=st.booleans(), then=a_change)
    def copies(self, recorded: bool, then: Change) -> None:
        """A copy of the model goes on."""
        twin = copy.deepcopy(self.town)
        self._end()
        self.town, self.file, self.saved = twin, None, None
        if recorded:
            self.records_anew(then)
        else:
            self.changes(then)

    @precondition(lambda self: self.file is not None and self._has_stepped())
    @rule(again=st.sampled_from([resume, fork]), then=a_change)
    def goes_on(self, again: Any, then: Change) -> None:
        """The program ends, and another one goes on."""
        run = self._end()
        self._check_record(run)
        assert run is not None
        self._renew(again, run, None)
        self.changes(then)

    @precondition(lambda self: self.file is not None and self._has_stepped())
    @rule(number=st.integers(0, 30), then=a_change)
    def forks_with_another_memory(self, number: int, then: Change) -> None:
        """All have another memory in a fork."""
        run = self._end()
        assert run is not None
        self._renew(partial(fork, memory=self._other(number)), run, None)
        for person in self.plain.agents:
            replace_memory(person, self._other(number))
        self.changes(then)

    @precondition(lambda self: self.file is not None and self._has_stepped())
    @rule(kept=st.booleans(), then=a_change)
    def keeps(self, kept: bool, then: Change) -> None:
        """A checkpoint is asked for, to go back to if it is ``kept``."""
        self._extend()
        run, step = checkpoint(self.town)
        if kept:
            state = copy.deepcopy(self.plain), set(self.gone)
            self.saved = (run, step, *state)
        self.changes(then)

    @precondition(lambda self: self.saved and self.saved[1] < self.town.steps)
    @rule(again=st.sampled_from([resume, fork]), then=a_change)
    def goes_back(self, again: Any, then: Change) -> None:
        """Back to the checkpoint."""
        run, step, plain, gone = self.saved  # type: ignore[misc]
        self._end()
        self._renew(again, run, step)
        self.plain, self.gone, self.saved = plain, gone, None
        self.changes(then)

    # -- what must hold ---------------------------------------------------------------

    def _has_stepped(self) -> bool:
        recorder: Any = Services.of(self.town).recorder
        return recorder is not None and recorder.step is not None

    def _renew(self, again: Any, run: int, step: float | None) -> None:
        kind, execution = self.plain.kind, Services.of(self.plain).execution
        del self.town
        gc.collect()
        self.town = again(
            Town, self.file, step, run=run, trust=True, kind=kind, execution=execution
        )

    def _extend(self) -> None:
        """What has changed since the checkpoint of this step becomes part of it."""
        if self.saved and self.saved[1] == self.town.steps:
            self.saved = None

    def _end(self) -> int | None:
        """Closes the record; the number of the run."""
        self._extend()
        recorder: Any = Services.of(self.town).recorder
        if recorder is not None:
            recorder.close()
        return getattr(recorder, "run", None)

    def _compare(self) -> None:
        here, there = held(self.town), held(self.plain)
        assert here == there
        assert ended(self.town) == ended(self.plain)
        if self._has_stepped():
            recorder: Any = Services.of(self.town).recorder
            recorder.sync()
            self._check_record(recorder.run)
        # A question grades what waits for a grade, which is of the next step.
        assert shown(self.town) == shown(self.plain)
        ids = {record[0] for records in here.values() for record in records}
        assert not ids & self.gone

    def _check_record(self, run: int | None) -> None:
        """The record holds what the agents do."""
        if self.file is None or run is None:
            return
        with open_run(self.file, run) as found:
            known = {str(row["agent"]) for row in found.agents(as_records=True)}
            for agent, records in held(self.town).items():
                if str(agent) not in known:
                    assert not records
                    continue
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
