"""Work and memory grow with what happens, not with its square, nor without end."""

import sys

import mesa
import pytest
import sqlalchemy as sa
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import LongTermMemory, STLTMemory, configure, register_policy
from mesa_memory.stores import open_store
from mesa_memory.tasks.grounding import doubt_of

MIB = 1024


class Counting(set):
    """Counts how often it is asked whether it holds something."""

    asked = 0

    def __contains__(self, kind):
        """The answer of a set."""
        self.asked += 1
        return super().__contains__(kind)


@pytest.mark.parametrize("kind", [LongTermMemory, STLTMemory])
def test_what_is_left_of_a_long_step_is_not_put_together_for_each_request(kind):
    """At about 25 events in a request, 1,000 events take 40 requests."""
    model = mesa.Model(rng=1)
    configure(model, llm="offline")
    policy = register_policy("quiet", lambda turn: "")
    agent = LLMAgent(model, CoTReasoning, policy)
    memory = agent.memory = kind(agent)
    memory.additive_event_types = types = Counting(memory.additive_event_types)
    model.step()
    for number in range(1000):
        text = f"Bridge number {number} is broken. " * 25
        memory.add_to_memory("message", {"message": text, "sender": 5})
    memory.process_step()
    assert "Bridge number 999" in memory.get_prompt_ready()
    assert types.asked < 5 * 1000


def test_a_summary_is_checked_in_few_calls_for_each_event():
    """Not one for each language that there is, nor for each letter."""
    lines = [f"message: Agent 5 says: Bridge {n} is broken" for n in range(300)]
    summary = "Bridge 7 and other bridges are broken, says Agent 5"
    inputs = {"lines": [(1, line) for line in lines], "max_chars": 4000}
    doubt_of(summary, inputs)  # reads the words of all languages
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        doubt_of(summary, inputs)
    finally:
        sys.setprofile(None)
    assert calls / len(lines) < 60


def test_what_sqlite_keeps_in_memory_is_full_early_in_a_run(tmp_path):
    """A file grows by about 0.1 MB a step of five agents."""
    store = open_store(str(tmp_path / "run.sqlite"))
    with store.writing() as on:
        kept = on.scalar(sa.text("PRAGMA cache_size"))
    store.close()
    assert -32 * MIB <= kept < 0
