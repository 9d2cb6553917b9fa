"""A record that begins when agents remember something already."""

import pytest

from mesa_memory import (
    LLMRejected,
    ScriptedLLM,
    ShortTermMemory,
    configure,
    open_run,
    resume,
)
from mesa_memory.memories.registry import find
from tests.support import layered
from tests.support.hamlet import Hamlet
from tests.support.lives import KINDS
from tests.support.playing import lived
from tests.support.turns import in_turn

MEMORIES = {kind: find(kind) for kind in KINDS} | {"layered": layered.four}


class Street(Hamlet):
    makers = MEMORIES

    def __init__(self, memory="episodic"):
        super().__init__(memory, n=3, execution="blocking")

    def step(self):
        super().step()
        shown(self)


def shown(street):
    return [agent.memory.get_prompt_ready() for agent in street.agents]


@pytest.mark.parametrize("memory", MEMORIES)
def test_what_is_remembered_already_is_taken_up(memory, tmp_path):
    file = str(tmp_path / "run.sqlite")
    street = lived(Street(memory), 5)
    configure(street, record=file)
    lived(street, 5)
    held = {a.unique_id: a.memory.current_records() for a in street.agents}
    before = shown(street)
    configure(street, record=None)
    assert before == shown(lived(Street(memory), 10)), "a record changes nothing"
    with open_run(file) as run:
        assert run.steps == [6, 7, 8, 9, 10]
        for agent, records in held.items():
            rows = run.state(agent, 10)
            assert set(rows["id"]) == {record.id for record in records}
            known = dict(zip(rows["id"], rows["importance"], strict=True))
            graded = [r for r in records if r.importance is not None]
            assert all(known[r.id] == r.importance for r in graded)
            assert all(len(run.provenance(record.id)) for record in records)


@in_turn(quick=3, memory=MEMORIES)
def test_a_run_whose_record_began_late_is_resumed_as_it_was(memory, tmp_path):
    file = str(tmp_path / "run.sqlite")
    street = lived(Street(memory), 5)
    configure(street, record=file)
    configure(lived(street, 4), record=None)
    again = lived(resume(Street, file), 3)
    assert again.steps == 12
    assert shown(again) == shown(lived(Street(memory), 12))
    configure(again, record=None)


def test_a_memory_that_nobody_holds_any_more_is_taken_up_when_it_is_used(tmp_path):
    street = lived(Street("stlt"), 5)
    old = street.agents[0].memory
    before = {record.id for record in old.current_records()}
    street.agents[0].memory = ShortTermMemory(street.agents[0])
    configure(street, record=str(tmp_path / "run.sqlite"))
    for _ in range(4):
        old.add_to_memory("observation", {"seen": "a heron"})
        old.process_step()
        street.step()
    configure(street, record=None)
    with open_run(tmp_path / "run.sqlite") as run:
        known = {row["id"] for row in run.history(agent=1, as_records=True)}
    assert before & known, "what it let go of is in the record"


def test_a_memory_whose_work_fails_is_said_before_a_record_begins(tmp_path):
    file = tmp_path / "run.sqlite"
    street = Street("long_term")
    wrong = ScriptedLLM(rules={"*": LLMRejected("no key")})
    configure(street, llm=wrong, execution="deferred")
    street.agents[0].memory.add_to_memory("observation", {"seen": "a heron"})
    street.agents[0].memory.process_step()
    with pytest.raises(LLMRejected, match="no key"):
        configure(street, record=str(file))
    configure(street, llm="offline", record=str(file))
    street.step()
    configure(street, record=None)
    with open_run(file) as run:
        assert len(run.steps) == 1
