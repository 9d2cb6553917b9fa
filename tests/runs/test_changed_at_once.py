"""A change made before a memory's first new record is recorded like any other."""

import pytest

from mesa_memory import (
    LLMUnavailable,
    ScriptedLLM,
    carry_over,
    configure,
    open_run,
    resume,
)
from tests.support.hamlet import Hamlet, all_erased, edited, erased, exchanged
from tests.support.playing import ended, held, lived, recorded


class Town(Hamlet):
    """Two people, who see the day and are told two things each day."""

    def step(self):
        one, two = self.agents
        one.send_message("Carl lives at the mill.", [two])
        two.send_message("Bob is the mayor.", [one])
        for agent in self.agents:
            agent.memory.process_step(pre_step=True)
            agent.memory.add_to_memory("observation", {"text": f"day {self.steps}"})
            agent.memory.process_step()


CHANGES = [erased, all_erased, edited, exchanged]


@pytest.mark.filterwarnings("ignore:the run of Town is recorded")
def test_a_grade_that_comes_after_a_resume_is_recorded(tmp_path):
    """The server was away when the events came, and answers in the run that goes on."""
    file = tmp_path / "run.sqlite"
    away = ScriptedLLM(rules={"*": lambda request: LLMUnavailable("is away")})
    town = lived(Town("episodic", file, llm=away))
    assert {r.importance for r in town.agents[0].memory.current_records()} == {None}
    run = ended(town)
    again = lived(resume(Town, file, llm="offline"), 2)
    again.agents[0].memory.recall("news")  # the last events waited for more to grade
    grades = {r.id: r.importance for r in again.agents[0].memory.current_records()}
    ended(again)
    assert None not in grades.values()
    with open_run(file, run) as told:
        rows = told.state(1, as_records=True)
    assert {r["id"]: r["importance"] for r in rows} == grades


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_directly_after_another_record_has_begun_is_in_that(change, tmp_path):
    town = lived(Town("conversation", tmp_path / "first.sqlite"))
    before = held(town)
    configure(town, record=tmp_path / "second.sqlite")
    change(*town.agents)
    lived(town, 1)
    now = held(town)
    assert recorded(tmp_path / "second.sqlite", ended(town)) == now
    assert recorded(tmp_path / "first.sqlite", 1) == before


def test_what_is_erased_directly_after_it_was_carried_over_is_gone(tmp_path):
    ended(lived(Town("stlt", tmp_path / "before.sqlite")))
    town = Town("stlt", tmp_path / "now.sqlite")
    one, two = town.agents
    carry_over(tmp_path / "before.sqlite", one)
    erased(one, two)
    lived(town, 1)
    now = held(town)
    assert recorded(tmp_path / "now.sqlite", ended(town)) == now
