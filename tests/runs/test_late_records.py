"""A record that begins when agents remember something already."""

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import (
    ConversationMemory,
    EpisodicMemory,
    FactMemory,
    ImpressionMemory,
    LayeredMemory,
    LLMRejected,
    LongTermMemory,
    NarrativeMemory,
    ScriptedLLM,
    ShortTermMemory,
    STLTMemory,
    configure,
    open_run,
    register_policy,
    resume,
)
from mesa_memory.layers import Reflection
from tests.support import layered

MEMORIES = {
    "short_term": ShortTermMemory,
    "stlt": lambda agent: STLTMemory(agent, short_term_capacity=2),
    "long_term": LongTermMemory,
    "episodic": lambda agent: EpisodicMemory(
        agent, max_capacity=8, reflection=Reflection()
    ),
    "impression": lambda agent: ImpressionMemory(agent, update_every=2),
    "fact": lambda agent: FactMemory(agent, summary=True),
    "layered": layered.four,
    "unimatrix": LayeredMemory.unimatrix,
    "session": LayeredMemory.session,
    "narrative": lambda agent: NarrativeMemory(agent, 2, 20, keep_last=1),
    "conversation": lambda agent: ConversationMemory(agent, 2, idle_steps=0),
}


def talk(turn):
    """What README's neighbours say."""
    return "I greet my neighbour."


class Neighbour(LLMAgent):
    """README's agent."""

    def step(self):
        others = [agent for agent in self.model.agents if agent is not self]
        self.send_message(f"The bridge broke on day {self.model.steps}!", others)
        self.shown = self.memory.get_prompt_ready()


class Street(mesa.Model):
    """README's model."""

    def __init__(self, n=3, rng=None, memory="episodic"):
        super().__init__(rng=rng)
        configure(self, llm="offline", execution="blocking")
        for _ in range(n):
            agent = Neighbour(self, CoTReasoning, register_policy("talk", talk))
            agent.memory = MEMORIES[memory](agent)

    def step(self):
        self.agents.shuffle_do("step")


def lived(memory, steps):
    street = Street(rng=1, memory=memory)
    for _ in range(steps):
        street.step()
    return street


def shown(street):
    return [agent.memory.get_prompt_ready() for agent in street.agents]


@pytest.mark.parametrize("memory", MEMORIES)
def test_what_is_remembered_already_is_taken_up(memory, tmp_path):
    file = str(tmp_path / "run.sqlite")
    street = lived(memory, 5)
    configure(street, record=file)
    for _ in range(5):
        street.step()
    held = {a.unique_id: a.memory.current_records() for a in street.agents}
    before = shown(street)
    configure(street, record=None)
    assert before == shown(lived(memory, 10)), "a record changes nothing"
    with open_run(file) as run:
        assert run.steps == [6, 7, 8, 9, 10]
        for agent, records in held.items():
            rows = run.state(agent, 10)
            assert set(rows["id"]) == {record.id for record in records}
            known = dict(zip(rows["id"], rows["importance"], strict=True))
            graded = [r for r in records if r.importance is not None]
            assert all(known[r.id] == r.importance for r in graded)
            assert all(len(run.provenance(record.id)) for record in records)


@pytest.mark.parametrize("memory", MEMORIES)
def test_a_run_whose_record_began_late_is_resumed_as_it_was(memory, tmp_path):
    file = str(tmp_path / "run.sqlite")
    street = lived(memory, 5)
    configure(street, record=file)
    for _ in range(4):
        street.step()
    configure(street, record=None)
    again = resume(Street, file)
    for _ in range(3):
        again.step()
    assert again.steps == 12
    assert shown(again) == shown(lived(memory, 12))
    configure(again, record=None)


@pytest.mark.parametrize("memory", MEMORIES)
def test_one_record_may_follow_another(memory, tmp_path):
    street = Street(rng=1, memory=memory)
    for name in ("one", "two", "three"):
        configure(street, record=str(tmp_path / name))
        for _ in range(3):
            street.step()
    configure(street, record=None)
    for name, steps in (("one", [1, 2, 3]), ("two", [4, 5, 6]), ("three", [7, 8, 9])):
        with open_run(tmp_path / name) as run:
            assert run.steps == steps


def test_a_memory_that_nobody_holds_any_more_is_taken_up_when_it_is_used(tmp_path):
    street = Street(rng=1, memory="stlt")
    old = street.agents[0].memory
    for _ in range(5):
        street.step()
    street.agents[0].memory = ShortTermMemory(street.agents[0])
    configure(street, record=str(tmp_path / "run.sqlite"))
    for _ in range(4):
        old.add_to_memory("observation", {"seen": "a heron"})
        old.process_step()
        street.step()
    configure(street, record=None)


def test_a_memory_whose_work_fails_is_said_before_a_record_begins(tmp_path):
    file = tmp_path / "run.sqlite"
    street = Street(rng=1, memory="long_term")
    wrong = ScriptedLLM(rules={"*": LLMRejected("no key")})
    configure(street, llm=wrong, execution="deferred")
    street.agents[0].memory.add_to_memory("observation", {"seen": "a heron"})
    street.agents[0].memory.process_step()
    with pytest.raises(LLMRejected, match="no key"):
        configure(street, record=str(file))
    configure(street, llm="offline", record=str(file))
    street.step()
    configure(street, record=None)
    with open_run(file) as run:
        assert len(run.steps) == 1
