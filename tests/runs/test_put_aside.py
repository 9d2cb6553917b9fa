"""An agent that is given another memory does not hold what was in the one before."""

import copy
import gc

import pytest

from mesa_memory import Services, open_run, resume
from tests.support.agreement import agrees, held
from tests.support.classes import EVERY
from tests.support.diary import Diary
from tests.support.hamlet import Hamlet
from tests.support.turns import in_turn

CLASSES = [kind.__name__ for kind in EVERY]


class Street(Hamlet):
    """Neighbours to whom something happens in the morning of a day."""

    def __init__(self, memory="ShortTermMemory", file="", morning=None):
        super().__init__(memory, file or None)
        self.file, self.morning = file, morning or {}

    def step(self):
        for agent in self.agents:
            self.morning.get(self.steps, lambda agent: None)(agent)
        super().step()
        for agent in self.agents:
            for memory in (agent.memory, getattr(agent, "diary", agent.memory)):
                memory.get_prompt_ready()


def amnesia(agent):
    agent.memory = type(agent.memory)(agent)


def amnesia_for_good(agent):
    amnesia(agent)
    gc.collect()


def put_in_a_drawer(agent):
    agent.diary = agent.memory
    amnesia(agent)


def take_out_of_the_drawer(agent):
    agent.memory = agent.diary


def hide(agent):
    agent.model.hidden = {**getattr(agent.model, "hidden", {}), agent: agent.memory}
    amnesia(agent)


def find(agent):
    agent.memory = agent.model.hidden[agent]


def duplicate(agent):
    agent.memory = copy.deepcopy(agent.memory)


def ended(street, why):
    with open_run(street.file) as run:
        rows = run.history(agent=1, as_records=True)
    return [(row["id"], row["valid_to"]) for row in rows if row["because"] == why]


@in_turn(memory=CLASSES, day=[1, 3], loss=[amnesia, amnesia_for_good])
def test_what_was_in_a_replaced_memory_is_not_held_any_more(
    memory, day, loss, tmp_path
):
    file = str(tmp_path / "run.sqlite")
    street = Street(memory, file, {day: loss})
    for agent in street.agents:
        agent.memory.add_to_memory("note", {"text": "A ship came in."})
    agrees(street, 5)
    found = ended(street, "replaced")
    assert found and {end for _, end in found} == {day}
    assert {name.split("/")[1] for name, _ in found} == {
        type(street.agents[0].memory).layer
    }


@in_turn(memory=CLASSES, morning=[put_in_a_drawer, duplicate])
def test_a_memory_that_is_kept_elsewhere_or_copied_is_still_held(
    memory, morning, tmp_path
):
    file = str(tmp_path / "run.sqlite")
    street = Street(memory, file, {3: morning})
    agrees(street, 5)
    assert not ended(street, "replaced")


@pytest.mark.filterwarnings("ignore:the run of Street is recorded, but not all")
@in_turn(quick=3, memory=CLASSES, day=[2, 3, 4])
def test_a_run_with_a_replaced_memory_is_resumed(memory, day, tmp_path):
    file = str(tmp_path / "run.sqlite")
    morning = {3: amnesia}
    street = Street(memory, file, morning)
    agrees(street, day)
    before = held(street)
    Services.of(street).recorder.close()
    again = resume(Street, file, morning=morning)
    assert held(again) == before
    agrees(again, 3)
    assert ended(again, "replaced")


def test_a_memory_whose_records_have_ended_cannot_come_back(tmp_path):
    file = str(tmp_path / "run.sqlite")
    street = Street("ShortTermMemory", file, {3: hide, 5: find})
    agrees(street, 4)
    with pytest.raises(
        ValueError, match=r"agent 1 holds a memory again.*agent\.diary ="
    ):
        street.step()


def test_a_memory_kept_under_another_name_comes_back(tmp_path):
    file = str(tmp_path / "run.sqlite")
    morning = {3: put_in_a_drawer, 5: take_out_of_the_drawer}
    street = Street("ShortTermMemory", file, morning)
    agrees(street, 7)


def copy_and_keep(agent):
    put_in_a_drawer(agent)
    agent.memory = copy.deepcopy(agent.diary)


@pytest.mark.parametrize("memory", CLASSES)
def test_a_memory_and_its_copy_never_give_two_records_one_id(memory, tmp_path):
    file = str(tmp_path / "run.sqlite")
    street = Street(memory, file, {3: copy_and_keep})
    diary = Diary(street)
    for _ in range(7):
        street.step()
    assert diary.records  # and no id was used twice
