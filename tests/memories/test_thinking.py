"""A model's thinking is no part of what its agent remembers; its decision is."""

import pytest

from mesa_memory import EpisodicMemory, LongTermMemory, ShortTermMemory
from tests.support.single import memory_of, scripted, table

THOUGHT = "The user wants me to decide between mill and bridge."
GO = "I go to the bridge."
#: a plan in each form in which models think
PLANS = [
    form.replace("Hm.", THOUGHT).replace("@", GO)
    for form in table("replies")["thoughts"]
]


def add(memory, kind, content):
    memory.agent.model.steps += 1
    memory.add_to_memory(kind, content)
    memory.process_step()


@pytest.mark.parametrize("kind", ["plan", "plan_execution", "action"])
def test_of_a_plan_the_decision_is_shown_and_the_thinking_is_not(kind):
    for plan in PLANS:
        memory = memory_of(ShortTermMemory)
        add(memory, kind, {"content": plan})
        shown = memory.get_prompt_ready()
        assert GO in shown and "user wants" not in shown and "<|" not in shown


@pytest.mark.parametrize("kind", [EpisodicMemory, LongTermMemory])
def test_the_thinking_of_a_plan_is_neither_graded_nor_summarised(kind):
    for plan in PLANS:
        rules = {"grade": {"grades": [3]}, "*": {"summary": GO}}
        memory, llm = scripted(kind, rules)
        for _ in range(4):
            add(memory, "plan", {"content": plan})
        assert llm.history
        for request in llm.history:
            assert GO in request.prompt and "user wants" not in request.prompt


def test_a_plan_that_never_ends_thinking_shows_none_of_it():
    memory = memory_of(ShortTermMemory)
    add(memory, "plan", {"reasoning": f"<think>{THOUGHT}", "action": GO})
    shown = memory.get_prompt_ready()
    assert GO in shown and "user wants" not in shown


def test_a_message_leaves_out_the_thinking_before_it_and_keeps_marks_that_it_names():
    memory = memory_of(ShortTermMemory)
    said = "Write </think> or [/INST] on the wall; <think> is a tag, <|im_end|> too."
    add(memory, "message", {"message": f"<think>{THOUGHT}</think>{said}", "sender": 4})
    shown = memory.get_prompt_ready()
    assert said in shown and "user wants" not in shown
    add(memory, "message", {"message": "<think> is how models begin.", "sender": 4})
    assert "<think> is how models begin." in memory.get_prompt_ready()
