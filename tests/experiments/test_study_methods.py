"""The methods text counts every request, and names the one that answered it."""

import json
import re
import sqlite3

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import (
    EpisodicMemory,
    LongTermMemory,
    arrange_prompts,
    configure,
    open_run,
    register_policy,
)
from mesa_memory.experiments import Study
from mesa_memory.experiments.reports.facts import facts_of_run
from mesa_memory.experiments.reports.methods import methods
from tests.support.behaviours import Behaviour, always
from tests.support.choosers import Choice, chance_server
from tests.support.study_results import run


class Thinker(LLMAgent):
    """Decides by its model, and remembers by it."""

    def think(self):
        self.llm.generate("Stay or go?")
        self.memory.add_to_memory("observation", {"view": f"day {self.model.steps}"})
        self.memory.process_step()


class Thoughts(mesa.Model):
    """Two thinkers with a policy of the user's own, whose memories ask the rules."""

    def __init__(self, memory=LongTermMemory, rng=None):
        super().__init__(rng=rng)
        configure(self, outcomes=("mood",))
        mine = register_policy("mine", lambda turn: "stay")
        for _ in range(2):
            agent = Thinker(self, CoTReasoning, mine)
            agent.mood, agent.memory = "glad", memory(agent)
            arrange_prompts(agent)

    def step(self):
        self.agents.do("think")


@pytest.fixture
def server():
    with chance_server() as server:
        yield server


def study(file, server, model=Choice, factors=None, **given):
    factors = {"base": [server.base]} if factors is None else factors
    given = {"seeds": [1, 2], "steps": 2} | given
    return Study(model, factors, store=file, **given)


@pytest.mark.parametrize("record", [True, False])
def test_a_policy_is_not_credited_with_the_answers_of_the_rules(file, record):
    made = study(file, None, Thoughts, {}, record=record, seeds=[1])
    run(made)
    text = made.methods()
    assert "The policy offline/mine answered 4 requests (reasoning 4)." in text
    assert "The offline rules of mesa-memory answered" in text
    if record:
        with open_run(file, "Thoughts/seed=1") as recorded:
            said = methods(facts_of_run(recorded))
        for part in (
            "The policy offline/mine answered 4 requests", "The seed was 1.",
            "was run once for 2 steps with 2 agents.", "(2 agents)",
            "Recorded of each agent after each step: mood.",
        ):  # fmt: skip
            assert part in said


def test_attempts_of_unrecorded_runs_that_failed_were_paid(file, server):
    made = study(file, server, record=False, seeds=[1])
    server.behave = lambda received: (
        Behaviour.status(401, "Incorrect API key") if len(server.log) > 2 else None
    )
    assert run(made).failed
    server.behave = always(None)
    assert run(made).finished
    assert (
        "openai/test answered 7 requests" in made.methods()
        and "1 calls failed" in made.methods()
    )
    assert made.status().calls == 4


def test_a_study_without_requests_says_so(file, server):
    made = study(file, server, factors={"base": [server.base], "asks": [0]})
    run(made)
    assert "No language model was asked." in made.methods()


def size(model):
    return len(model.agents)


def test_settings_of_memories_are_those_of_the_store(file):
    made = Study(
        Thoughts, {"memory": [EpisodicMemory]}, seeds=[1], steps=2, store=file,
        outcomes={"end": size},
    )  # fmt: skip
    run(made)
    (told,) = re.findall(r"The memories' settings were: (.*)", made.methods())
    with sqlite3.connect(file) as store:
        kept = json.loads(store.execute("SELECT settings FROM agents").fetchone()[0])
    assert told.startswith("EpisodicMemory (") and "stream.grader.top = 5" in told
    assert sorted(re.findall(r"-?\d+\.?\d*", told.rstrip(").,"))) == sorted(
        numbers(kept)
    )


def numbers(values):
    """All numbers in nested settings, as text."""
    for value in values.values():
        if isinstance(value, dict):
            yield from numbers(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield str(value)
