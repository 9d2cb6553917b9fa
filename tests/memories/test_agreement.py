"""What a memory holds is what its record says, in each class, after every step."""

from collections import deque

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent

from mesa_memory import (
    ConversationMemory,
    EpisodicMemory,
    FactMemory,
    ImpressionMemory,
    LongTermMemory,
    MemoryModule,
    NarrativeMemory,
    ShortTermMemory,
    STLTMemory,
    configure,
    open_run,
    resume,
)
from mesa_memory.examples.rumor.memories import NoMemory
from tests.support import layered
from tests.support.agreement import agrees, held
from tests.support.playing import ended
from tests.support.single import settle
from tests.support.turns import in_turn


class Nothing(MemoryModule):
    """Overrides nothing, so it keeps nothing."""

    layer = "nothing"


class LastThree(MemoryModule):
    """Keeps a list of its own, from which it drops what is old."""

    layer, state = "last_three", ("kept",)

    def __init__(self, agent):
        super().__init__(agent)
        self.kept = []

    def remember(self, view):
        said = [r for r in self.current_records() if r not in self.kept]
        self.kept = [*self.kept, *said][-3:]
        return
        yield


class Shelf:
    """A user's own container, which no file can hold."""

    def __init__(self):
        self.places = {}


class Shelved(MemoryModule):
    """Keeps the newest record of each sender, in an object of its own."""

    layer = "shelved"

    def __init__(self, agent):
        super().__init__(agent)
        self.shelf = Shelf()

    def remember(self, view):
        for record in self.current_records():
            self.shelf.places[record.content["sender"]] = record
        return
        yield

    def records(self):
        return [*super().records(), *self.shelf.places.values()]


class Marked(ShortTermMemory):
    """Holds on to what the window has let go of."""

    state = ("marked",)

    def __init__(self, agent):
        super().__init__(agent, n=2)
        self.marked = deque(maxlen=2)

    def remember(self, view):
        self.marked.append(self.current_records()[-1])
        return
        yield


KINDS = {
    "short_term": lambda agent: ShortTermMemory(agent, n=2),
    "stlt": lambda agent: STLTMemory(agent, short_term_capacity=2),
    "long_term": LongTermMemory,
    "episodic": lambda agent: EpisodicMemory(
        agent, max_capacity=5, reflect_threshold=20
    ),
    "impression": lambda agent: ImpressionMemory(agent, update_every=2, n=2),
    "fact": lambda agent: FactMemory(agent, max_facts=2, n=2, summary=True),
    "layered": lambda agent: layered.four(agent, 300, capacity=5),
    "narrative": lambda agent: NarrativeMemory(agent, 2, 20, keep_last=1),
    "conversation": lambda agent: ConversationMemory(agent, 2, idle_steps=0),
    "none": NoMemory,
    "nothing": Nothing,
    "last_three": LastThree,
    "shelved": Shelved,
    "marked": Marked,
}
DAYS = 6


class Neighbour(LLMAgent):
    def step(self):
        others = [agent for agent in self.model.agents if agent is not self]
        self.send_message(f"Day {self.model.steps}: the bridge is broken!", others)
        self.memory.get_prompt_ready()


class Street(mesa.Model):
    def __init__(self, memory, file, execution="deferred", rng=None):
        super().__init__(rng=rng)
        self.memory, self.file, self.execution = memory, file, execution
        configure(self, llm="offline", record=file, execution=execution)
        settle(self, KINDS[memory], 3, Neighbour)

    def step(self):
        self.agents.shuffle_do("step")


@pytest.mark.parametrize("memory", ["none", "nothing"])
def test_a_memory_that_keeps_nothing_holds_what_waits_for_its_step_alone(
    memory, tmp_path
):
    street = Street(memory, str(tmp_path / "run.sqlite"), rng=1)
    for step, each in agrees(street, DAYS).items():
        with open_run(street.file) as run:
            for agent, ids in zip(street.agents, each, strict=True):
                waiting = [
                    row["step"]
                    for row in run.state(agent.unique_id, step, as_records=True)
                ]
                assert waiting == [step] * len(ids) and len(ids) <= 2


@pytest.mark.parametrize("memory", ["last_three", "shelved"])
def test_what_a_users_class_has_let_go_of_is_evicted(memory, tmp_path):
    street = Street(memory, str(tmp_path / "run.sqlite"), rng=1)
    agrees(street, DAYS)
    for agent in street.agents:
        own = agent.memory
        kept = own.kept if memory == "last_three" else own.shelf.places.values()
        assert {record.id for record in kept} <= {r.id for r in own.current_records()}
        with open_run(street.file) as run:
            reasons = [
                row["because"]
                for row in run.history(agent=agent.unique_id, as_records=True)
                if row["because"] is not None
            ]
        assert reasons and set(reasons) == {"evicted"}


def empty(memory):
    """Takes out by hand whatever a class lets a user take out."""
    for name in ("short_term_memory", "memory_entries"):
        if hasattr(memory, name):
            getattr(memory, name).clear()
    if hasattr(memory, "long_term_memory"):
        memory.long_term_memory = ""
    if hasattr(memory, "kept"):
        memory.kept = []


@in_turn(execution=["blocking", "deferred"], memory=KINDS)
def test_the_record_agrees_after_each_step_also_with_what_is_taken_out_by_hand(
    memory, execution, tmp_path
):
    street = Street(memory, str(tmp_path / "run.sqlite"), execution, rng=1)
    agrees(street, DAYS)
    for agent in street.agents:
        empty(agent.memory)
    agrees(street, 2)


RESUMED = ["none", "nothing", "last_three", "marked"]
EMPTIED = ["short_term", "stlt", "episodic", "last_three"]


@pytest.mark.parametrize(
    ("memory", "emptied"),
    [*((each, False) for each in RESUMED), *((each, True) for each in EMPTIED)],
)
def test_a_resumed_run_agrees_and_what_was_taken_out_at_last_does_not_come_back(
    memory, emptied, tmp_path
):
    file = str(tmp_path / "run.sqlite")
    street = Street(memory, file, rng=1)
    agrees(street, 3)
    if emptied:
        for agent in street.agents:
            empty(agent.memory)
    left = held(street)
    ended(street)
    again = resume(Street, file, memory=memory, file=file, rng=1)
    assert held(again) == left
    agrees(again, 3)
