"""What Mesa-LLM's own reasoning leaves in memory, as an agent reads it."""

import re

import mesa
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning
from mesa_llm.reasoning.react import ReActReasoning

from mesa_memory import (
    EpisodicMemory,
    LongTermMemory,
    ScriptedLLM,
    ShortTermMemory,
    STLTMemory,
    configure,
    register_policy,
)
from mesa_memory.core.events import event_text
from mesa_memory.llm import ToolCall
from tests.support.single import settle
from tests.support.turns import in_turn

RAW = re.compile(r"Message\(|tool_calls|local_state|self_state|\{|np\.|\\n")
#: prompts of the reasoning, each run's own
READ = []


def trade(turn):
    """Always offers the same to the same one."""
    if turn.tools:
        to = {"listener_agents_unique_ids": [2], "message": "Shoes for $40?"}
        return [ToolCall("speak_to", to)]
    READ.append(turn.system + turn.prompt)
    if turn.fields:
        return {"reasoning": "Nobody has bought yet.", "action": "Offer shoes"}
    return "Thought 1: Nobody has bought yet.\nThought 2: I wait.\nAction: Offer shoes"


class Seller(LLMAgent):
    """Observes, plans and acts as Mesa-LLM's examples do."""

    def step(self):
        seen = self.generate_obs()
        plan = self.reasoning.plan(obs=seen, selected_tools=["speak_to"])
        self.apply_plan(plan)


class Shop(mesa.Model):
    """Three sellers who see each other."""

    def __init__(self, memory, reasoning=CoTReasoning):
        super().__init__(rng=1)
        READ.clear()
        self.llm = ScriptedLLM(
            rules={
                "consolidate": {"summary": "Shoes are offered for $40."},
                "grade": lambda r: {"grades": [3] * len(r.inputs["events"])},
            }
        )
        configure(self, llm=self.llm, execution="blocking")
        name = register_policy("trade", trade)
        given = {"reasoning": reasoning, "step_prompt": "Sell shoes.", "vision": -1}
        self.sellers = settle(self, memory, 3, Seller, name, **given)
        for n, seller in enumerate(self.sellers):
            seller.internal_state = ["persuasive", f"has {n} shoes"]

    def step(self):
        for seller in self.sellers:
            seller.step()


def remembered(shop, seller=0):
    """What a seller is shown of its memory, without the observation at hand."""
    return shop.sellers[seller].memory.get_prompt_ready()


@in_turn(
    reasoning=[CoTReasoning, ReActReasoning],
    memory=[ShortTermMemory, STLTMemory, LongTermMemory, EpisodicMemory],
)
def test_no_python_stands_in_a_memory_or_in_what_it_asks(memory, reasoning):
    shop = Shop(memory, reasoning)
    for _ in range(9):
        shop.step()
    for number in range(3):
        assert not RAW.search(remembered(shop, number)), remembered(shop, number)
    for request in shop.llm.history:
        records = re.findall(r"^(?:- |\d+\. )(.*)$", request.prompt, re.MULTILINE)
        assert records
        assert not [line for line in records if RAW.search(line)]


def test_a_step_reads_as_sentences():
    shop = Shop(ShortTermMemory)
    shop.step()
    lines = remembered(shop).splitlines()
    assert lines[:4] == [
        "Short term memory:",
        "Step 1:",
        (
            "- Own state: persuasive, has 0 shoes. Saw Seller 2 (persuasive, has 1 shoes), "
            "Seller 3 (persuasive, has 2 shoes)."
        ),
        (
            "- Planned: Thought 1: Nobody has bought yet. Thought 2: I wait. "
            "Action: Offer shoes"
        ),
    ]
    assert lines[4] == "- Used speak_to: sent message 'Shoes for $40?' to [2]"


def test_repetitions_are_folded_and_the_last_one_stays():
    shop = Shop(lambda agent: ShortTermMemory(agent, n=20))
    for _ in range(8):
        shop.step()
    text = remembered(shop)
    assert text.count("Used speak_to") == 1
    assert "to [2] (8 times, first in step 1)" in text
    assert text.rindex("Step ") < text.index("Used speak_to")
    heard = remembered(shop, 1)
    # Within a conversation of the last two steps each time stands by itself.
    assert "Agent 1 and Agent 3, 14 times, last at step 8: Shoes for $40?" in heard
    assert heard.count("to you: Shoes for $40?") == 2


def test_a_crowd_that_does_not_fit_keeps_everybodys_name():
    shop = Shop(lambda agent: ShortTermMemory(agent, event_chars=300))
    seller = shop.sellers[0]
    state = {"position": [1, 2], "internal_state": ["is at work " * 5]}
    crowd = {f"Cop {n}": state for n in range(10)}
    seller.memory.add_to_memory("observation", {"local_state": crowd})
    text = remembered(shop)
    assert all(f"Cop {n} at [1, 2]" in text for n in range(10))
    assert "how they were is left out" in text


def test_those_at_the_agents_own_place_are_told_with_it():
    near = {
        "Cop 2": {"position": [1, 2], "internal_state": ["sad"]},
        "Cop 3": {"position": [4, 2]},
        "Cop 4": {"position": [1, 2]},
    }
    sight = {"self_state": {"location": [1, 2]}, "local_state": near}
    told = "At [1, 2] with Cop 2 (sad), Cop 4. Saw Cop 3 at [4, 2]."
    assert event_text("observation", sight, 1000) == told
    state = sight["self_state"] | {"internal_state": ["tired"]}
    told = "At [1, 2]: tired; with Cop 2 (sad), Cop 4. Saw Cop 3 at [4, 2]."
    assert event_text("observation", sight | {"self_state": state}, 1000) == told


def test_a_state_is_no_query_and_no_top_hit():
    shop = Shop(EpisodicMemory)
    seller = shop.sellers[0]
    told = [f"The market opens at {n}." for n in (7, 8, 9)]
    for text in told:
        seller.memory.add_to_memory("message", {"message": text, "sender": 2})
        for _ in range(4):
            shop.step()
    seller.generate_obs()
    focused = seller.memory.recall(k=4)
    assert "observation" not in [r.record.kind for r in focused]
    asked = seller.memory.recall("Which shoes does somebody have?", k=3)
    assert asked
    assert "observation" not in [r.record.kind for r in asked]
    seen = seller.memory.recall(kinds=["observation"])
    assert {r.record.kind for r in seen} == {"observation"}


def test_forms_that_nobody_knows_are_shown_as_they_are():
    shop = Shop(ShortTermMemory)
    seller = shop.sellers[0]
    seller.memory.add_to_memory("action", {"name": "wave", "status": "done"})
    seller.memory.add_to_memory("plan", {"steps": ["go", "buy"], "why": "hunger"})
    seller.memory.add_to_memory("plan_execution", {"content": "Message(content='x"})
    seller.memory.add_to_memory("observation", {"view": "a wolf"})
    text = remembered(shop)
    assert "- action: name: wave, status: done" in text
    assert "- plan: steps: [go, buy], why: hunger" in text
    assert "- observation: view: a wolf" in text
