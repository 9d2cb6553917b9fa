"""What happened is told in the order in which it happened, in every section and request."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesa_memory import LayeredMemory
from tests.support.classes import EVERY
from tests.support.single import Asked, memory_of

MEMORIES = [*EVERY, LayeredMemory.unimatrix, LayeredMemory.generative_agent]
#: of each step, the kinds of its events in order; each event has a number
DAYS = st.lists(
    st.lists(st.sampled_from(["heard", "said", "saw", "did"]), max_size=5),
    min_size=1,
    max_size=8,
)


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
    section = re.sub(r"^.*\bConcluded: .*$", "", section, flags=re.MULTILINE)
    return list(dict.fromkeys(int(n) for n in re.findall(r"\bn(\d+)", section)))


@pytest.mark.parametrize("make", MEMORIES, ids=lambda make: make.__qualname__)
@settings(max_examples=20, deadline=None)
@given(days=DAYS)
def test_no_section_and_no_request_tells_a_later_event_before_an_earlier_one(
    make, days
):
    llm, number = Asked(), 0
    memory = memory_of(make, llm)
    for kinds in days:
        memory.agent.model.steps += 1
        for kind in kinds:
            happens(memory, kind, number := number + 1)
        memory.process_step()
        asked = [request.messages()[1]["content"] for request in llm.asked]
        llm.asked.clear()
        for text in [str(memory.get_prompt_ready()), *asked]:
            for section in sections(text):
                found = numbers(section)
                assert found == sorted(found), section
