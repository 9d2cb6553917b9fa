"""A memory that the model holds, and no agent, is not there again on resume: it says so."""

import warnings

import pytest

from mesa_memory import ShortTermMemory
from tests.support.hamlet import Hamlet
from tests.support.playing import play


class Town(Hamlet):
    """One citizen, and a chronicle of the town that is written in its name."""

    def __init__(self, hold=None, day=0, record=None):
        super().__init__("short_term", record, n=1)
        self.hold, self.day = hold, day
        (self.citizen,) = self.agents
        self.now_holds(0)

    def now_holds(self, day):
        if self.hold is not None and day == self.day:
            self.hold(self, ShortTermMemory(self.citizen))

    def step(self):
        self.now_holds(self.steps)
        super().step()


def as_memory(town, memory):
    town.memory = memory


def as_chronicle(town, memory):
    town.chronicle = memory


def in_a_dict(town, memory):
    town.minds = {town.citizen: memory}


def of_the_citizen(town, memory):
    town.chronicle = town.citizen.memory
    town.citizen.diary = town.diary = memory


PLACES = [(as_memory, "memory"), (as_chronicle, "chronicle"), (in_a_dict, "minds")]


@pytest.mark.filterwarnings("ignore:the run of Town is recorded")
@pytest.mark.parametrize("day", [0, 2])
@pytest.mark.parametrize(("hold", "name"), PLACES)
def test_a_memory_of_the_model_is_named_once(hold, name, day, tmp_path):
    with pytest.warns(UserWarning, match="Town holds a memory") as told:
        play(Town(hold, day, tmp_path / "run.sqlite"), 4)
    (said,) = [str(w.message) for w in told if "holds a memory" in str(w.message)]
    assert f"model.{name} (ShortTermMemory of agent 1)" in said
    assert "agent.diary = …" in said


def test_what_an_agent_holds_too_is_not_named(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "the run of Town is recorded")
        play(Town(of_the_citizen, 0, tmp_path / "run.sqlite"), 4)
