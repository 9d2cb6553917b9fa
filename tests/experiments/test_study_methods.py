"""The methods text counts every request, and names the one that answered it."""

import os

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import (
    LongTermMemory,
    configure,
    open_run,
    register_policy,
    route_reasoning,
)
from mesa_memory.experiments import Study
from mesa_memory.experiments.studies.methods import facts_of_run, methods
from tests.support.behaviours import Behaviour, always
from tests.support.choosers import Choice, chance_server
from tests.support.study_results import run

os.environ.setdefault("OPENAI_API_KEY", "test")


class Thinker(LLMAgent):
    """Decides by its model, and remembers by it."""

    def think(self):
        self.llm.generate("Stay or go?")
        self.memory.add_to_memory("observation", {"view": f"day {self.model.steps}"})
        self.memory.process_step()


class Thoughts(mesa.Model):
    """Two thinkers, one of a policy of the user's own."""

    def __init__(self, llm="offline/mine", rng=None):
        super().__init__(rng=rng)
        configure(self)
        register_policy("mine", lambda turn: "stay")
        for _ in range(2):
            agent = Thinker(self, CoTReasoning, llm)
            agent.memory = LongTermMemory(agent)
            route_reasoning(agent)

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
def test_requests_count_whether_or_not_they_are_recorded(file, server, record):
    made = study(file, server, record=record)
    run(made)
    assert len(server.log) == 8
    text = made.methods()
    assert "Requests were answered by openai/test (8 calls)" in text
    assert "By purpose: reasoning (8)." in text
    assert "Altogether 8 calls used" in text and "No language model" not in text


@pytest.mark.parametrize("record", [True, False])
def test_cached_answers_are_told_apart_from_requests(file, server, record):
    factors = {"base": [server.base], "cache": [str(file.with_name("cache.sqlite"))]}
    run(study(file, server, factors=factors, record=record))
    again = study(file.with_name("b.sqlite"), server, factors=factors, record=record)
    run(again)
    text = again.methods()
    assert "Answers of openai/test (8 answers) came from a cache" in text
    assert "No language model" not in text and "Altogether" not in text


@pytest.mark.parametrize("record", [True, False])
def test_a_policy_is_not_credited_with_the_answers_of_the_rules(file, record):
    made = study(file, None, Thoughts, {}, record=record, seeds=[1])
    run(made)
    text = made.methods()
    assert "the policy offline/mine (4 calls)" in text
    assert "the offline rules of mesa-memory (" in text
    if record:
        with open_run(file, "Thoughts/seed=1") as recorded:
            assert "the policy offline/mine (4 calls)" in methods(
                facts_of_run(recorded)
            )


def test_attempts_of_unrecorded_runs_that_failed_were_paid(file, server):
    made = study(file, server, record=False, seeds=[1])
    server.behave = lambda received: (
        Behaviour.status(401, "Incorrect API key") if len(server.log) > 2 else None
    )
    assert run(made).failed
    server.behave = always(None)
    assert run(made).finished
    assert (
        "openai/test (7 calls)" in made.methods() and "1 calls failed" in made.methods()
    )
    assert made.status().calls == 4


def test_a_study_without_requests_says_so(file, server):
    made = study(file, server, factors={"base": [server.base], "asks": [0]})
    run(made)
    assert "No language model was asked." in made.methods()
