"""A model that never gives a usable reply: nothing is lost from sight, nothing is paid twice."""

import re

import pytest

from mesa_memory import ImpressionMemory, LayeredMemory, Services, ShortTermMemory
from tests.support.classes import EVERY
from tests.support.models import hear
from tests.support.single import scripted

STEPS, CHARS = 14, 2000
MEMORIES = [*EVERY, LayeredMemory.unimatrix, LayeredMemory.generative_agent]
#: memories that forget by their own rule, and after how many steps
FORGETTING = {ShortTermMemory: 5, ImpressionMemory: 5}
#: a refusal, another form, an empty text, and no reply at all
REPLIES = {
    "refused": "I'm sorry, but I can't help with that.",
    "garbage": '{"unknown": [1, {"deep": null}]}',
    "empty": '{"summary": ""}',
    "nothing": "",
}


def counted(text):
    """How many events the notes in a prompt say are left out."""
    notes = re.findall(r"\((\d+) (?:earlier |memories|facts)[^)]*\)", text)
    return sum(map(int, notes))


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
@pytest.mark.parametrize("make", MEMORIES, ids=lambda make: make.__qualname__)
def test_every_event_stands_in_a_section_or_is_counted_as_left_out(make, reply):
    memory, llm = scripted(make, {"*": reply}, max_pending_steps=100)
    said = [f"Day {n}. " + "The river rose. " * (CHARS // 16) for n in range(STEPS)]
    for text in said:
        hear(memory, (9, text))
    shown = str(memory.get_prompt_ready())
    seen = sum(f"Day {n}." in shown for n in range(STEPS))
    assert seen + counted(shown) >= FORGETTING.get(make, STEPS)
    held = {record.id for record in memory.current_records()}
    assert held, "an event that no reply has taken up stays"
    thoughts = [request for request in llm.history if request.repair is None]
    again = len(llm.history) - len(thoughts)
    assert again <= len(thoughts), "at most one more request for a thought"
    used = Services.of(memory.agent.model).ledger.total
    assert used.calls == len(llm.history)
    assert used.given_up == again or not again, "each thought once, after its repair"
