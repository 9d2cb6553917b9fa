"""Forty small cases of what may become of a statement, with scripted replies.

The facts are right at the end of each, and no statement is lost: it is kept, repeated,
ended or refused, and each of these is a record.
"""

import pytest

from benchmarks.facts import measure
from mesa_memory import FactMemory, OfflineLLM, ScriptedLLM
from tests.support.diary import Diary
from tests.support.single import memory_of, table

#: by name: messages with the facts that a model makes of them and its further replies,
#: in order (sent by agent 2, a day each, unless they say another), and what is current
CASES = table("judge_cases")


def lived(case, llm):
    """The memory and the records of its facts after what was said."""
    memory = memory_of(FactMemory, llm)
    model = memory.agent.model
    seen = Diary(model)
    for day, said in enumerate(case["said"], 1):
        model.steps = said.get("step", day)
        message = {"message": said["text"], "sender": said.get("sender", 2)}
        memory.add_to_memory("message", message)
        memory.process_step()
    return memory, [r for r in seen.records if r.kind == "fact"]


def values(memory):
    """What is current, without articles and capitals."""
    found = set()
    for record in memory.facts():
        value = record.content["value"].casefold().strip(".")
        value = value.removeprefix("the ").removeprefix("a ")
        found.add(value if record.content["holds"] else f"not {value}")
    return found


def test_the_facts_are_right_with_scripted_replies():
    for name, case in CASES.items():
        llm = ScriptedLLM()
        made = [said.get("facts", []) for said in case["said"]]
        for facts, said in zip(made, case["said"]):
            llm.enqueue({"facts": facts}, *said.get("more", ()))
        memory, records = lived(case, llm)
        assert values(memory) == set(case["current"]), name
        assert memory.layers[1].waiting() == []
        with pytest.raises(LookupError):
            llm.complete(llm.history[-1])  # every reply was asked for
        stated = sum(len(facts) for facts in made if "nonsense" not in facts)
        repeated = len(made) if "only wrong" in name else 0
        assert len(records) >= stated - repeated, "each statement has left a record"
        for record in records:
            assert record.sources or record.closed_because == "refused"


def test_at_least_thirty_are_right_without_a_model():
    wrong = [
        name
        for name, case in CASES.items()
        if values(lived(case, OfflineLLM())[0]) != set(case["current"])
    ]
    assert len(CASES) - len(wrong) >= 30, wrong
    assert wrong == OFFLINE_WRONG


#: what no rule of ours tells
OFFLINE_WRONG = ["one of several is gone"]


@pytest.mark.parametrize("offline", [False, True], ids=["scripted", "offline"])
def test_facts_answer_what_they_are_for(offline):
    found = measure(2, 25, offline)
    shares = found["shares"]["facts"]
    assert shares["current"] >= 0.95 and shares["at a step"] >= 0.95
    assert shares["two hops"] >= 0.5 and shares["premise"] >= 0.8
    assert shares["conflict"] == 1.0 and shares["false alarms"] == 0.0
    assert found["judged"] < 0.3
