"""What a long run and a step with many events cost."""

import sys
from collections import Counter

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import (
    ConversationMemory,
    EpisodicMemory,
    ImpressionMemory,
    LayeredMemory,
    LongTermMemory,
    NarrativeMemory,
    Services,
    STLTMemory,
    configure,
    open_run,
    register_policy,
)
from mesa_memory.layers import Reflection
from tests.support.classes import EVERY


def agent_of(model, cls, **settings):
    agent = LLMAgent(model, CoTReasoning, register_policy("mute", lambda turn: ""))
    agent.memory = cls(agent, **settings)
    return agent


def lines_run(work):
    """How many lines of the package Python ran, however fast the machine is."""
    count = Counter()

    def local(frame, event, arg):
        count[event] += 1
        return local

    def trace(frame, event, arg):
        return local if "mesa_memory" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count["line"]


def step_of(cls, kind, count):
    """Work: a step with so many events, until its memory has been read."""
    model = mesa.Model(rng=1)
    configure(model, llm="offline", execution="blocking")
    memory = agent_of(model, cls).memory
    model.step()

    def work():
        for number in range(count):
            said = f"Bridge number {number} is broken"
            event = {"message": {"message": said, "sender": 5}}
            memory.add_to_memory(kind, event.get(kind, {"seen": said}))
        memory.process_step()
        assert memory.get_prompt_ready()

    return work


@pytest.mark.parametrize("kind", ["message", "observation"])
@pytest.mark.parametrize("cls", EVERY, ids=lambda cls: cls.__name__)
def test_four_times_the_events_of_a_step_take_about_four_times_the_work(cls, kind):
    step_of(cls, kind, 10)()  # what is loaded on first use
    few = lines_run(step_of(cls, kind, 500))
    many = lines_run(step_of(cls, kind, 2000))
    assert many < 6 * few


def reflecting(agent, **settings):
    return EpisodicMemory(agent, reflection=Reflection.questions(), **settings)


@pytest.mark.parametrize(
    ("cls", "settings"),
    [
        (STLTMemory, {}),
        (LongTermMemory, {}),
        (ImpressionMemory, {}),
        (EpisodicMemory, {"max_capacity": 50}),
        (reflecting, {"max_capacity": 50}),
        (reflecting, {"max_capacity": 10_000}),
        (ConversationMemory, {"idle_steps": 1, "recent": 5}),
        (NarrativeMemory, {"chapters": 2, "section_chars": 2000}),
        (LayeredMemory.unimatrix, {"budget": 1000}),
        (LayeredMemory.generative_agent, {}),
    ],
)
def test_a_late_step_takes_as_much_work_and_as_long_a_prompt_as_an_early_one(
    cls, settings
):
    model = mesa.Model(rng=1)
    configure(model, llm="offline", execution="blocking")
    memory, prompts = agent_of(model, cls, **settings).memory, []

    def live(steps):
        for _ in range(steps):
            model.step()
            now, sender = model.steps, 7 + model.steps // 4 % 5
            seen = {"local_state": {f"Villager {sender}": {"mood": now % 3}}}
            memory.add_to_memory("observation", seen)
            if now % 4 < 2:
                said = f"Mill {now % 9} is broken.{' Water rises.' * 20}"
                memory.add_to_memory("message", {"message": said, "sender": sender})
            memory.process_step()
            prompts.append(len(memory.get_prompt_ready()))

    live(140)
    early = lines_run(lambda: live(20))
    live(360)
    late = lines_run(lambda: live(20))
    assert late <= 1.2 * early
    assert sum(prompts[-20:]) <= 1.2 * sum(prompts[140:160])


def test_a_model_that_keeps_its_class_of_memory_can_be_recorded(tmp_path):
    for name in ("memory", "memory_class", "kinds"):
        model = mesa.Model(rng=1)
        setattr(model, name, [EpisodicMemory] if name == "kinds" else EpisodicMemory)
        configure(model, llm="offline", record=tmp_path / f"{name}.sqlite")
        agent_of(model, EpisodicMemory).memory.add_to_memory("note", {"text": "Hi."})
        model.step()
        Services.of(model).recorder.close()
        with open_run(tmp_path / f"{name}.sqlite") as run:
            assert len(run.state(1, 1, as_records=True)) == 1


class Town(mesa.Model):
    """Talkers who say each day something new."""

    def __init__(self):
        super().__init__(rng=1)
        configure(self, llm="offline")
        for _ in range(2):
            agent_of(self, EpisodicMemory, max_capacity=20)

    def step(self):
        one, other = self.agents
        for agent in (one, other):
            agent.memory.add_to_memory("message", {"message": f"Day {self.steps}."})
            agent.memory.process_step()


def test_the_ledger_of_a_long_run_keeps_its_sums():
    town = Town()
    for _ in range(300):
        town.step()
    ledger = Services.of(town).ledger
    assert ledger.total.calls == 300
    assert ledger.by("purpose")[("grade",)] == ledger.total
    by_agent = ledger.by("agent")
    assert sum(used.tokens for used in by_agent.values()) == ledger.total.tokens
    several = ledger.by("purpose", "model", "agent")
    assert sum(used.tokens for used in several.values()) == ledger.total.tokens
