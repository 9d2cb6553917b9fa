"""Mesa-LLM's own examples, from a checkout; run by test_hosts_mesa_llm.

``MESA_LLM_NEXT`` names the checkout, which stands before all else on the path.
"""

import importlib
import os
import re
import sys
from types import ModuleType

import mesa_llm
import pytest
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import Services, arrange_prompts, configure, register_policy
from tests.support.classes import EVERY

CHECKOUT = os.environ["MESA_LLM_NEXT"]
sys.modules["examples"] = ModuleType("examples")  # here is another one of this name
sys.modules["examples"].__path__ = [os.path.join(CHECKOUT, "examples")]


class Chooser:
    """Speaks to whom it can, else moves or changes; keeps all that it was shown."""

    def __init__(self):
        self.turns = []

    def __call__(self, turn):
        self.turns.append(turn)
        offered = re.findall(r'^    "name": "(\w+)"', turn.prompt, re.MULTILINE)
        return {"name": offered[0], "arguments": self.arguments(turn, offered[0])}

    def arguments(self, turn, name):
        numbers = re.findall(
            r'(?:"unique_id": |exactly \[)(\d+)(?:, (\d+))?', turn.prompt
        )
        if name == "speak_to":
            listeners = [int(numbers[0][0])]
            message = f"Offer {len(self.turns)}."
            return {"listener_agents_unique_ids": listeners, "message": message}
        if name == "teleport_to_location":
            return {"target_coordinates": [int(n) for n in numbers[-1]]}
        return {
            "change_state": {"state": "QUIET"},
            "move_one_step": {"direction": "East"},
        }[name]


def noted(agent, shown):
    """An agent whose memory is noted whenever it chooses."""
    choose = agent.choose_action

    def choose_action(prompt, **given):
        with agent.memory.peek():
            shown.append(agent.memory.get_prompt_ready())
        return choose(prompt, **given)

    agent.choose_action = choose_action


def live(model, memory, chooser, look):
    """Three steps; each request to act shows the memory of its agent once."""
    configure(model)
    shown = []
    for agent in model.agents:
        agent.memory = memory(agent)
        arrange_prompts(agent)
        noted(agent, shown)
    for _ in range(3):
        model.step()
        look(model)
    assert len(chooser.turns) == len(shown) >= 12
    told = [turn.prompt.count(text) for turn, text in zip(chooser.turns, shown)]
    assert set(told) == {1}
    used = Services.of(model).ledger.by("purpose")
    assert used[("reasoning",)].calls == len(shown)


def test_this_is_the_checkout():
    folder = os.path.dirname(mesa_llm.__file__)
    assert os.path.samefile(folder, os.path.join(CHECKOUT, "mesa_llm"))


@pytest.mark.parametrize("memory", EVERY)
def test_buyers_and_sellers_read_their_dialogue_in_order(memory):
    chooser, said = Chooser(), []
    agents = importlib.import_module("examples.negotiation.agents")
    module = importlib.import_module("examples.negotiation.model")

    def look(model):
        for agent in model.agents:
            lines = agents.get_dialogue_history(agent, 100)
            numbers = [
                int(n) for n in re.findall(r"Offer (\d+)\.$", lines, re.MULTILINE)
            ]
            assert numbers == sorted(numbers)
            said.append(len(numbers))

    given = register_policy("negotiates", chooser), 5
    model = module.NegotiationModel(3, 5, 5, CoTReasoning, *given, seed=1)
    live(model, memory, chooser, look)
    assert max(said) > 3


@pytest.mark.parametrize("memory", EVERY)
def test_citizens_and_cops_are_shown_their_memory_once(memory, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # it records by itself, until the interpreter's exit
    monkeypatch.setattr("atexit.register", lambda function: function)
    module = importlib.import_module("examples.epstein_civil_violence.model")
    chooser = Chooser()
    given = register_policy("epstein", chooser), 5
    model = module.EpsteinModel(1, 4, 5, 5, CoTReasoning, *given, seed=1)
    live(model, memory, chooser, lambda model: None)
