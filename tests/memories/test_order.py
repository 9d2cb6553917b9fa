"""What happened is told in the order in which it happened, in every section and request."""

import re

import mesa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import (
    ConversationMemory,
    EpisodicMemory,
    FactMemory,
    ImpressionMemory,
    LayeredMemory,
    LongTermMemory,
    NarrativeMemory,
    OfflineLLM,
    ShortTermMemory,
    STLTMemory,
    configure,
)

MEMORIES = [
    ShortTermMemory,
    STLTMemory,
    LongTermMemory,
    EpisodicMemory,
    ImpressionMemory,
    ConversationMemory,
    FactMemory,
    NarrativeMemory,
    LayeredMemory.unimatrix,
    LayeredMemory.generative_agent,
]
#: of each step, the kinds of its events in order; each event has a number
DAYS = st.lists(
    st.lists(st.sampled_from(["heard", "said", "saw", "did"]), max_size=5),
    min_size=1,
    max_size=8,
)


class Asked(OfflineLLM):
    def __init__(self):
        super().__init__()
        self.told = []

    def complete(self, request):
        self.told.append(request.messages()[1]["content"])
        return super().complete(request)


def happens(memory, kind, number):
    if kind in ("heard", "said"):
        sender = 9 if kind == "heard" else memory.agent.unique_id
        to = [memory.agent.unique_id if kind == "heard" else 9]
        said = {"message": f"Word n{number}.", "sender": sender, "recipients": to}
        memory.add_to_memory("message", said)
    elif kind == "saw":
        memory.add_to_memory("observation", {"view": f"n{number}"})
    else:
        memory.add_to_memory("action", {"done": f"n{number}"})


def sections(text):
    """The parts of a text; each conversation has a heading of its own."""
    return re.split(r"\n\n|\n(?=Conversation with )", text)


def numbers(section):
    """The numbers of the events in a section; one that is told twice, the first time.

    What an agent concluded from events is told when it concluded it.
    """
    section = re.sub(r"^.*\breflection: .*$", "", section, flags=re.MULTILINE)
    return list(dict.fromkeys(int(n) for n in re.findall(r"\bn(\d+)", section)))


@pytest.mark.parametrize("make", MEMORIES, ids=lambda make: make.__qualname__)
@settings(max_examples=20, deadline=None)
@given(days=DAYS)
def test_no_section_and_no_request_tells_a_later_event_before_an_earlier_one(
    make, days
):
    model, asked = mesa.Model(rng=1), Asked()
    configure(model, llm=asked, execution="blocking")
    agent = LLMAgent(model, CoTReasoning, "openai/test")
    agent.memory = memory = make(agent)
    number = 0
    for kinds in days:
        model.steps += 1
        for kind in kinds:
            happens(memory, kind, number := number + 1)
        memory.process_step()
        told = [str(memory.get_prompt_ready()), *asked.told]
        asked.told.clear()
        for text in told:
            for section in sections(text):
                found = numbers(section)
                assert found == sorted(found), section
