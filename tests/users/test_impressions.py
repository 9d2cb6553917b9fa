"""Of whom an agent forms an impression, and from what."""

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import ImpressionMemory, ScriptedLLM, configure, register_policy

REPLY = {"text": "Seems fair.", "sentiment": 0.1, "familiarity": 0.3}


class SugarHeap(mesa.Agent):
    """Has a state to be seen, and no mind."""

    internal_state = ("sugar: 4",)


class Trader(LLMAgent):
    """Sees everything and everybody; says what ``doing`` says."""

    def step(self):
        self.generate_obs()
        self.doing(self)


class Market(mesa.Model):
    """Two traders who talk, twelve who do not, and six heaps of sugar."""

    def __init__(self):
        super().__init__(rng=1)
        self.llm = ScriptedLLM(rules={"impression": REPLY})
        configure(self, llm=self.llm, execution="blocking")
        name = register_policy("trader", lambda turn: "I wait.")
        state = ["patient", "curious about what everybody else pays for sugar today"]
        self.traders = [
            Trader(self, CoTReasoning, name, vision=-1, internal_state=state)
            for _ in range(14)
        ]
        for trader in self.traders:
            trader.memory = ImpressionMemory(trader)
            trader.doing = lambda trader: None
        for _ in range(6):
            SugarHeap(self).pos = None

    def step(self):
        for trader in self.traders:
            trader.step()


@pytest.fixture
def market():
    """After five steps in which the first trader spoke to the second."""
    market = Market()
    first, second, *_ = market.traders
    first.doing = lambda trader: trader.send_message("Three coins?", [second])
    for _ in range(5):
        market.step()
    return market


def subject(request):
    """Whom a request is about."""
    return request.inputs["subject"]


def test_those_who_exchanged_words_have_an_impression_and_nobody_else(market):
    pairs = {(request.agent, subject(request)) for request in market.llm.history}
    assert pairs == {(1, "Agent 2"), (2, "Agent 1")}
    assert set(market.traders[0].memory.impressions()) == {2}


def test_each_line_of_the_evidence_says_something_of_the_one_it_is_about(market):
    for request in market.llm.history:
        number = subject(request).removeprefix("Agent ")
        known_as = (f"Agent {number} ", f"Agent {number}:", f"Trader {number} ")
        assert request.inputs["since"]
        for line in request.inputs["since"]:
            assert any(name in f"{line} " for name in known_as), line


def test_the_evidence_is_about_nobody_else(market):
    for request in market.llm.history:
        assert "SugarHeap" not in request.prompt
        assert "Trader 9" not in request.prompt


def test_what_one_said_oneself_says_to_whom():
    market = Market()
    first, second, *_ = market.traders
    first.doing = lambda trader: trader.send_message("Three coins?", [second])
    market.step()
    market.step()
    market.step()
    lines = next(r.inputs["since"] for r in market.llm.history if r.agent == 1)
    assert "Step 1: Agent 1 says to Agent 2: Three coins?" in lines


def test_whoever_is_heard_has_a_mind_and_what_cannot_speak_has_none():
    market = Market()
    trader = market.traders[0]
    for _ in range(5):
        trader.memory.add_to_memory("message", {"message": "Hello!", "sender": 99})
        trader.memory.add_to_memory(
            "observation", {"local_state": {"Ghost 77": "there"}}
        )
        trader.memory.process_step()
    assert set(trader.memory.impressions()) == {99}


def test_sights_alone_do_not_grow_without_end():
    market = Market()
    for _ in range(60):
        market.step()
    market.traders[0].send_message("Now?", [market.traders[1]])
    market.step()
    (request,) = [r for r in market.llm.history if r.agent == 1]
    assert len(market.traders[0].memory.impression_of(2).sources) <= 40
    assert "times, first in step" in request.prompt
