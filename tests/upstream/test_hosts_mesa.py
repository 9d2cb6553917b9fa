"""Steps, events and seeds of Mesa's models, as the recorder takes them."""

import mesa
import pytest
from mesa.experimental.devs import DEVSimulator
from mesa.time import Schedule

from mesa_memory import Services, ShortTermMemory, configure, open_run, resume
from mesa_memory.errors import HostChanged
from mesa_memory.viz.live.model_run import live_feed


class Walker(mesa.Agent):
    def __init__(self, model):
        super().__init__(model)
        self.memory = ShortTermMemory(self, n=50)

    def note(self, text):
        self.memory.add_to_memory("message", {"message": text})


class Yard(mesa.Model):
    """A model whose agent hears something at each step, and at times between."""

    def __init__(self, record=None, rng=None):
        super().__init__(rng=rng)
        if record:
            configure(self, record=record)
        self.walker = Walker(self)
        self.calls = 0

    def get_state(self):
        return {"calls": self.calls}

    def set_state(self, state):
        self.calls = state["calls"]

    def step(self):
        self.calls += 1
        self.walker.note(f"step {self.calls}")


def end(model):
    Services.of(model).recorder.close()


def told(run, step):
    return [content["message"] for content in run.state(agent=1, step=step)["content"]]


class Ringing(Yard):
    """Nobody steps it: a bell rings every 0.75 of a day."""

    def __init__(self, record=None, rng=None):
        super().__init__(record, rng)
        self.simulator = DEVSimulator()
        self.simulator.setup(self)
        self.schedule_recurring(self.ring, Schedule(interval=0.75))

    def ring(self):
        self.walker.note(f"bell at {self.time}")
        if getattr(self, "broken", None) == self.time:
            raise RuntimeError("the bell is broken")


def test_each_event_of_a_simulator_is_a_recorded_step(tmp_path):
    model = Ringing(tmp_path / "run.sqlite", rng=1)
    model.simulator.run_until(2)
    model.simulator.run_for(1)
    end(model)
    run = open_run(tmp_path / "run.sqlite")
    assert run.steps == [0.75, 1.5, 2.25, 3.0]
    assert told(run, 1.5) == ["bell at 0.75", "bell at 1.5"]


def test_a_run_of_events_goes_on_where_it_ended_and_rings_no_bell_twice(tmp_path):
    file = tmp_path / "run.sqlite"
    model = Ringing(file, rng=1)
    model.simulator.run_until(2)
    end(model)
    del model
    again = resume(Ringing, file)
    assert again.time == 2
    assert again.walker.memory.get_prompt_ready().count("bell") == 2
    again.simulator.run_until(3.5)
    end(again)
    assert told(open_run(file), 3.0) == [f"bell at {t}" for t in (0.75, 1.5, 2.25, 3.0)]


def test_an_event_that_fails_is_no_finished_step(tmp_path):
    model = Ringing(tmp_path / "run.sqlite", rng=1)
    model.broken = 1.5
    with pytest.raises(RuntimeError, match="broken"):
        model.simulator.run_until(2)
    end(model)
    run = open_run(tmp_path / "run.sqlite")
    assert run.steps == [0.75]
    assert list(run.runs()["state"]) == ["failed"]


def test_an_event_at_the_time_of_a_step_belongs_to_that_step(tmp_path):
    model = Yard(tmp_path / "run.sqlite", rng=1)
    rings = []

    def ring():
        rings.append(model.time)
        model.walker.note("a bell")

    model.schedule_event(ring, at=2)
    model.run_for(3)
    end(model)
    assert rings == [2]
    assert told(open_run(tmp_path / "run.sqlite"), 2) == ["step 1", "step 2", "a bell"]


def test_resuming_calls_neither_the_step_nor_a_planned_event(tmp_path):
    file, calls = tmp_path / "run.sqlite", []

    class Planned(Yard):
        def __init__(self, record=None, rng=None):
            super().__init__(record, rng)
            self.schedule_event(self.once, at=1.5)
            self.schedule_event(self.later, at=5.5)
            self.schedule_recurring(self.often, Schedule(interval=2.0))

        def once(self):
            calls.append(("once", self.time))

        def later(self):
            calls.append(("later", self.time))

        def often(self):
            calls.append(("often", self.time))

    model = Planned(file, rng=1)
    model.run_for(3)
    end(model)
    before = list(calls)
    again = resume(Planned, file)
    assert (again.calls, again.steps, again.time) == (3, 3, 3.0)
    assert calls == before == [("once", 1.5), ("often", 2.0)]
    again.run_for(3)
    end(again)
    assert calls[2:] == [("often", 4.0), ("later", 5.5), ("often", 6.0)]
    assert open_run(file).steps == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    "name", ["_user_step", "_default_schedule", "_event_list", "_advance_time"]
)
def test_a_name_of_mesa_that_is_gone_is_an_error_that_says_what_to_do(
    name, tmp_path, monkeypatch
):
    model = mesa.Model(rng=1)
    if name in vars(model):
        delattr(model, name)
    else:
        monkeypatch.delattr(mesa.Model, name)
    with pytest.raises(HostChanged, match=f"lacks {name}.*pip install"):
        configure(model, record=tmp_path / "run.sqlite")


def test_the_dashboard_sees_the_events_of_a_simulator():
    model = Ringing(rng=1)
    feed = live_feed(model)
    model.simulator.run_until(2)
    assert feed.refresh().steps == [0.75, 1.5]
