"""A checkpoint that is asked for between two steps holds what the agents remember then."""

import pytest

from mesa_memory import Services, checkpoint, fork, resume
from mesa_memory.memories.registry import OUR_MEMORIES
from tests.support.hamlet import Hamlet, edited, erased, exchanged, implanted
from tests.support.lives import Town as GrowingTown
from tests.support.playing import held, lived, recorded


class Town(Hamlet):
    """Two people, who see the day; nothing in it takes time."""

    within = False

    def step(self):
        for agent in self.agents:
            agent.memory.add_to_memory("observation", {"text": f"day {self.steps}"})
            agent.memory.process_step()
        if self.within:
            checkpoint(self)


def said(one, other):
    one.send_message(f"The bridge broke on day {one.model.steps}!", [other])


CHANGES = [said, implanted, erased, edited, exchanged]
#: each memory with two of them
PAIRS = [
    (kind, CHANGES[(number + place) % len(CHANGES)])
    for number, kind in enumerate(OUR_MEMORIES)
    for place in (0, 3)
]


@pytest.mark.parametrize(("kind", "change"), PAIRS)
def test_each_quick_step_is_kept_with_what_has_changed_since(kind, change, tmp_path):
    file = tmp_path / "run.sqlite"
    model = Town(kind, file)
    then = {}
    for step in range(1, 5):
        model.step()
        change(*model.agents)
        assert checkpoint(model) == (1, step)
        then[step] = held(model)
        assert checkpoint(model) == (1, step)
    Services.of(model).recorder.close()
    for step in (1, 3):
        other = fork(Town, file, step, run=1)
        assert held(other) == then[step] == recorded(file, 1, step)
        Services.of(other).recorder.close()
    again = resume(Town, file, 2, run=1)
    assert held(again) == then[2] == recorded(file, 1, 2)


def test_within_a_step_the_error_says_what_to_do(tmp_path):
    model = Town(record=tmp_path / "run.sqlite")
    with pytest.raises(ValueError, match="finished step"):
        checkpoint(model)
    model.within = True
    with pytest.raises(ValueError, match="finished step"):
        model.step()
    model = Town(record=tmp_path / "run.sqlite")
    model.step()
    model.within = True
    with pytest.raises(ValueError, match="between two steps"):
        for _ in range(100):  # few of which rest long enough for a checkpoint
            model.step()


def test_an_agent_that_came_in_the_middle_of_a_run_has_its_own_id_in_a_fork(tmp_path):
    file = tmp_path / "run.sqlite"
    town = GrowingTown("stlt", "blocking", record=file)
    for day in range(8):
        town.step()
        if day == 2:
            town.newcomer()
    late = max(agent.unique_id for agent in town.agents)
    Services.of(town).recorder.close()
    again = fork(GrowingTown, file, trust=True)
    memory = next(a for a in again.agents if a.unique_id == late).memory
    assert {record.agent for record in memory.held_records()} == {late}
    lived(again, 4)
    checkpoint(again)  # a summary that was taken up is that of its agent


class Gym(Town):
    """A user's own observation, which has the name of a run's state."""

    def get_state(self, agent):
        return {agent: self.steps}


class Watched(Town):
    """An observation of the whole model, of which nothing is restored."""

    def get_state(self):
        return object()


class Turned(Town):
    """A switch that other models turn."""

    def set_state(self, name, on=True):
        raise AssertionError("this is no state of a run")


@pytest.mark.parametrize("model", [Gym, Watched, Turned])
def test_a_method_of_the_user_in_another_form_is_not_the_state(model, tmp_path, caplog):
    file = tmp_path / "run.sqlite"
    town = model(record=file)
    town.step()
    checkpoint(town)
    town.step()
    Services.of(town).recorder.close()
    again = resume(model, file)
    assert held(again) == held(town)
    assert caplog.text.count("has get_state or set_state in another form") == 1


class Lake(Hamlet):
    """Two fishers and their fish, of which the model says nothing to a checkpoint."""

    def __init__(self, *given, **named):
        super().__init__(*given, **named)
        self.stock, self.name = 400, "Loch"
        for agent in self.agents:
            agent.basket, agent.boat = [], "Ada"

    def step(self):
        for agent in self.agents:
            self.stock -= 10
            agent.basket.append(10)


class KeptLake(Lake):
    """The same lake, which says it."""

    def get_state(self):
        return {"stock": self.stock}

    def set_state(self, state):
        self.stock = state["stock"]


def test_a_fork_names_what_the_model_does_not_say_of_itself(tmp_path):
    file = str(tmp_path / "lake.sqlite")
    Services.of(lived(Lake(record=file), 3)).recorder.close()
    with pytest.warns(UserWarning, match="lacks get_state") as warned:
        assert fork(Lake, file).stock == 400
    (said_once,) = [str(w.message) for w in warned if "get_state" in str(w.message)]
    assert "as they were at step 3: Neighbour.basket, stock." in said_once


def test_of_a_model_that_says_its_state_nothing_is_named(tmp_path, recwarn):
    file = str(tmp_path / "lake.sqlite")
    Services.of(lived(KeptLake(record=file), 3)).recorder.close()
    assert fork(KeptLake, file, step=2).stock == 360
    assert not [w for w in recwarn if "get_state" in str(w.message)]
