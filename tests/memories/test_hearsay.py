"""Statements of others: whose they are, and how far they reach."""

import pytest

from mesa_memory import FactMemory, ScriptedLLM, configure
from tests.support.models import citizen


def told(*steps, llm=None):
    """A memory of facts after these steps, each (events, facts of the reply)."""
    agent = citizen()
    script = llm or ScriptedLLM(rules={"judge": {"decisions": []}})
    configure(agent.model, llm=script, execution="blocking")
    memory = agent.memory = FactMemory(agent)
    for events, facts in steps:
        agent.model.steps += 1
        if facts is not None:
            script.enqueue({"facts": facts})
        for sender, text in events:
            if sender is None:
                memory.add_to_memory("observation", {"text": text})
            else:
                memory.add_to_memory("message", {"message": text, "sender": sender})
        memory.process_step()
    return memory


def fact(subject, attribute, value, *sources, **more):
    given = {"subject": subject, "attribute": attribute, "value": value}
    return given | {"sources": list(sources) or [1]} | more


def known(memory):
    """The values that are known, each with its speakers."""
    return {r.content["value"]: r.content["speakers"] for r in memory.facts()}


@pytest.mark.parametrize(
    ("subject", "attribute", "value"),
    [
        ("the bridge", "state", "safe"),
        ("Dana", "office", "judge"),
        ("井", "水", "干净"),
    ],
)
def test_two_speakers_who_contradict_each_other_are_both_remembered(
    subject, attribute, value
):
    claim = fact(subject, attribute, value)
    yes, no = f"{subject}: {value}", f"Not so: {subject}: {value}"
    memory = told(([(2, yes)], [claim]), ([(3, no)], [claim | {"holds": False}]))
    held = [(r.content["holds"], r.content["speakers"]) for r in memory.facts()]
    assert held == [(True, [2]), (False, [3])]
    assert len(memory.conflicts()) == 1
    assert "they disagree" in memory.get_prompt_ready()
