"""What memories cost, counted on a local server that speaks the OpenAI protocol."""

from functools import partial

import mesa
import pytest

from mesa_memory import (
    ConversationMemory,
    EpisodicMemory,
    ImpressionMemory,
    ScriptedLLM,
    Services,
    configure,
)
from mesa_memory.memories.registry import find
from tests.support.classes import EVERY
from tests.support.openai_server import OpenAIServer
from tests.support.single import settle
from tests.support.town import Citizen, Town

AGENTS, STEPS = 6, 15


@pytest.fixture(scope="module")
def server():
    with OpenAIServer() as server:
        yield server


def run(memory, server, steps=STEPS):
    """A town's life; returns it and the requests the server saw."""
    server.clear()
    town = Town(AGENTS, memory, server.base, lambda m: configure(m))
    for _ in range(steps):
        town.step()
    Services.of(town).flush()
    return town, list(server.log)


def quiet_talks(agent):
    """A memory whose conversations are summarised as soon as they are long."""
    return ConversationMemory(agent, short_term_turns=1)


@pytest.mark.parametrize(
    ("memory", "limit"),
    [
        ("short_term", 0),
        ("stlt", 1 / 2),
        ("long_term", 1),
        ("episodic", 1),
        ("fact", 1),
        (quiet_talks, 1 / 2),  # a summary of what was said in two steps
        ("narrative", 1 / 5),
        ("layered", 2 / 3),  # a summary every two steps, impressions every five
        ("unimatrix", 1 / 2),
        ("story_engine", 1 + 1 / 5),
        ("session", 1 + 1 / 5),
        ("generative_agent", 2),  # grades, also of insights, and insights
    ],
)
def test_calls_for_each_agent_and_step_stay_below_the_limit(memory, limit, server):
    _, log = run(find(memory), server)
    assert len(log) <= limit * AGENTS * STEPS
    assert log or not limit, "the memory never asked, so the limit proves nothing"


def sights(agent):
    """A memory for which those who are seen count as well."""
    return ImpressionMemory(agent, counts=("message", "observation"))


@pytest.mark.parametrize(("memory", "each_step"), [(ImpressionMemory, 2), (sights, 4)])
def test_impressions_are_renewed_once_per_update_every_interactions(
    memory, each_step, server
):
    town, log = run(memory, server)
    # A citizen hears from one and speaks to one in each step, and sees two others.
    interactions = each_step * AGENTS * STEPS
    assert 0 < len(log) <= interactions / 5
    citizen = town.citizens[0]
    renewed = sum(len(citizen.memory.revisions(a)) for a in town.citizens)
    waiting = [len(k.since) for k in citizen.memory.layers[1].known.values()]
    assert sum(waiting) + 5 * renewed <= each_step * STEPS
    assert max(waiting) < 5 + 2  # a step brings two interactions with one agent


@pytest.mark.parametrize("memory", EVERY)
def test_a_step_in_which_nothing_happens_costs_nothing(memory, server):
    town, _ = run(memory, server, steps=8)
    Citizen.step, busy = lambda self: (self.pre_step(), self.post_step()), Citizen.step
    try:
        for _ in range(6):  # what was said last is taken up here, and is over
            town.step()
        Services.of(town).flush()
        server.clear()
        for _ in range(3):
            town.step()
        Services.of(town).flush()
        assert server.log == []
    finally:
        Citizen.step = busy


class Hall(mesa.Model):
    """Agents who all hear the same announcement."""

    def __init__(self, **grading):
        super().__init__(rng=1)
        self.llm = ScriptedLLM(rules={"grade": self.grade})
        configure(self, llm=self.llm)
        kind = partial(EpisodicMemory, grade_together=1, **grading)
        self.hearers = settle(self, kind, 5, step_prompt="Stay safe.")

    @staticmethod
    def grade(request):
        """Grades by length of the line."""
        return {"grades": [1 + len(line) % 5 for _, line in request.inputs["events"]]}

    def announce(self, text):
        """Everybody hears it in the same step."""
        for hearer in self.hearers:
            hearer.memory.process_step(pre_step=True)
            hearer.memory.add_to_memory("message", {"message": text, "sender": 99})
            hearer.memory.process_step()


@pytest.mark.parametrize(
    ("grading", "task", "requests"),
    [({}, None, 1), ({"grade_context": 3}, None, 5), ({}, "Repair dams.", 2)],
    ids=["the same for all", "depends on the agent", "one has another task"],
)
def test_an_event_heard_by_many_agents_is_graded_once_if_the_grade_is_the_same(
    grading, task, requests
):
    hall = Hall(**grading)
    hall.hearers[0].step_prompt = task or hall.hearers[0].step_prompt
    hall.announce("The dam is broken!")
    assert len(hall.llm.history) == requests
    grades = {h.memory.memory_entries[0].content["message"]["importance"]
              for h in hall.hearers}  # fmt: skip
    assert grades == {1 + len("Agent 99 says: The dam is broken!") % 5}


def test_episodic_prompts_are_a_fifth_of_one_request_per_event(server):
    # Mesa-LLM sends one request per event with rich markup: 1755 tokens for each agent
    # and step in this model, measured by benchmarks/waiting.py.
    _, log = run(EpisodicMemory, server)
    tokens = sum(len(r.system) + len(r.prompt) for r in log) / 4
    assert tokens / (AGENTS * STEPS) < 1755 / 5
