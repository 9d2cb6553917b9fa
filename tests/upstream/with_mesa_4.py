"""What holds with the pre-release of Mesa 4; run by test_mesa_4 in its environment.

Mesa-LLM 0.3.2 cannot be imported there; its place takes ``tests/support/coming``.
"""

import copy
import pickle

import mesa
import pytest
from mesa.experimental.scenarios import Scenario
from mesa.time import Schedule

from mesa_memory import Services, STLTMemory, configure, fork, open_run, resume
from mesa_memory.errors import ParameterError
from mesa_memory.experiments import ChangeAfter, Study, draw
from mesa_memory.interventions import implant
from mesa_memory.llm import Reply
from mesa_memory.viz.data import activity
from mesa_memory.viz.live.live_feed import live_feed

ASKED = []


class CountingLLM:
    """Summarises, and counts who asks."""

    def complete(self, request):
        ASKED.append(request.purpose)
        return Reply(
            '{"summary": "Agents 1, 2 and 3 told which day it was: 1 to 9."}',
            model="counting/1",
        )


class Villager(mesa.Agent):
    def __init__(self, model):
        super().__init__(model)
        self.memory = STLTMemory(self, short_term_capacity=2, consolidation_capacity=1)
        self.luck = float(model.rng.random())

    def live(self):
        self.memory.process_step(pre_step=True)
        others = [a for a in self.model.agents if a is not self]
        friend = self.random.choice(others)
        said = {"message": f"day {self.model.time:g}", "sender": self.unique_id}
        friend.memory.add_to_memory("message", said)
        self.memory.get_prompt_ready()
        self.memory.process_step()


class Village(mesa.Model):
    """Three people who talk, and count what they say."""

    def __init__(self, record=None, replay=None, llm=None, rng=None, broken_at=None):
        super().__init__(rng=rng)
        given = {"record": record, "replay": replay, "llm": llm}
        configure(self, **{k: v for k, v in given.items() if v is not None})
        self.people = [Villager(self) for _ in range(3)]
        self.calls, self.broken_at = 0, broken_at

    def get_state(self):
        return {"calls": self.calls}

    def set_state(self, state):
        self.calls = state["calls"]

    def step(self):
        self.calls += 1
        if self.broken_at == self.calls:
            raise RuntimeError("a broken step")
        self.agents.shuffle_do("live")


def end(model):
    Services.of(model).recorder.close()


def prompts(model):
    """What its agents would be shown, looked at from outside."""
    found = []
    for agent in model.people:
        with agent.memory.peek():
            found.append(agent.memory.get_prompt_ready())
    return found


def recorded(file, steps=6, **given):
    model = Village(file, llm=CountingLLM(), rng=42, **given)
    for _ in range(steps):
        model.step()
    end(model)
    return model


def test_this_is_mesa_4():
    assert mesa.__version__.startswith("4.")
    assert not hasattr(mesa.Model(rng=1), "steps")


def test_a_run_is_recorded_with_whole_steps(tmp_path):
    model = recorded(tmp_path / "run.sqlite")
    run = open_run(tmp_path / "run.sqlite")
    assert run.steps == [1, 2, 3, 4, 5, 6]
    assert list(run.runs()["seed"]) == ["42"]
    assert list(run.runs()["state"]) == ["finished"]
    assert "Step 6:" in prompts(model)[0]
    assert "Step 6.0" not in "".join(prompts(model))
    assert not run.calls().empty
    said = [
        c["message"] for c in run.state(agent=1, step=2)["content"] if "message" in c
    ]
    assert set(said) <= {"day 1", "day 2"}
    assert said


def test_resuming_runs_no_step_and_asks_nobody(tmp_path):
    file = tmp_path / "run.sqlite"
    whole = recorded(tmp_path / "whole.sqlite", steps=9)
    first = recorded(file, steps=6)
    ASKED.clear()
    again = resume(Village, file, llm=CountingLLM())
    assert ASKED == []
    assert (again.calls, again.time) == (6, 6.0)
    assert prompts(again) == prompts(first)
    assert [a.luck for a in again.people] == [a.luck for a in first.people]
    for _ in range(3):
        again.step()
    end(again)
    assert ASKED
    assert again.calls == 9
    assert prompts(again) == prompts(whole)
    assert open_run(file).differences(open_run(tmp_path / "whole.sqlite")) is None
    assert open_run(file).steps == list(range(1, 10))


def test_resuming_plans_no_event_twice(tmp_path):
    rings = []

    class Belfry(Village):
        def __init__(self, record=None, rng=None):
            super().__init__(record, rng=rng, llm=CountingLLM())
            self.schedule_event(self.once, at=1.5)
            self.schedule_recurring(self.often, Schedule(interval=2.0))

        def once(self):
            rings.append(("once", self.time))

        def often(self):
            rings.append(("often", self.time))

    model = Belfry(tmp_path / "run.sqlite", rng=1)
    model.run_for(3)
    end(model)
    again = resume(Belfry, tmp_path / "run.sqlite")
    assert rings == [("once", 1.5), ("often", 2.0)]
    again.run_for(3)
    end(again)
    assert rings[2:] == [("often", 4.0), ("often", 6.0)]
    steps = open_run(tmp_path / "run.sqlite").steps
    assert steps == [1, 1.5, 2, 3, 4, 5, 6]


def first(generator):
    return generator.integers(2**63, size=4).tolist()


def test_draws_have_the_addresses_that_they_have_in_mesa_3(tmp_path):
    # The numbers of tests/experiments/test_draws.py.
    pinned = [
        4345673630420437959,
        7912521026461695435,
        3510734911125514654,
        2752778252565971083,
    ]
    assert first(draw(mesa.Model(rng=42), "meeting", step=3)) == pinned
    model = mesa.Model(rng=42)
    model.run_for(3)
    assert first(draw(model, "meeting")) == pinned
    for given in ({}, {"scenario": Scenario(rng=5)}):
        one = mesa.Model(**given)
        assert first(draw(one, "x")) == first(draw(one, "x"))


def test_a_run_forks_in_its_middle(tmp_path):
    file = tmp_path / "run.sqlite"
    model = recorded(file, steps=4)
    twin = fork(Village, file, llm=CountingLLM(), name="twin")
    twin.step()
    end(twin)
    assert twin.calls == 5
    assert model.calls == 4
    assert sorted(open_run(file).runs()["name"].fillna("")) == ["", "twin"]


def test_a_replay_is_found_by_the_seed_and_asks_nobody(tmp_path):
    file = tmp_path / "run.sqlite"
    model = recorded(file)
    ASKED.clear()
    again = Village(replay=file, rng=42)
    again.run_for(6)
    assert prompts(again) == prompts(model)
    assert ASKED == []
    with pytest.raises(ValueError, match=r"no run with seed 43.*'42'"):
        Village(replay=file, rng=43)


def test_a_model_without_a_seed_is_made_again_as_it_was(tmp_path):
    file = tmp_path / "run.sqlite"
    model = Village(file, llm=CountingLLM())
    model.run_for(3)
    end(model)
    again = resume(Village, file, llm=CountingLLM())
    assert [a.luck for a in again.people] == [a.luck for a in model.people]
    for each in (model, again):
        each.run_for(2)
    end(again)
    assert prompts(again) == prompts(model)


class Weather(Scenario):
    rain: float = 0.25


class Rainy(mesa.Model):
    def __init__(self, scenario=Weather, record=None):
        super().__init__(scenario=scenario)
        configure(self, record=record, llm="offline")
        self.walker = Villager(self)
        self.drops = []

    def get_state(self):
        return {"drops": self.drops}

    def set_state(self, state):
        self.drops = state["drops"]

    def step(self):
        self.drops.append(self.rng.random() < self.scenario.rain)
        self.walker.memory.add_to_memory("news", {"text": f"drops {self.drops}"})


@pytest.mark.parametrize("given", [{}, {"scenario": Weather}, "made"])
def test_a_scenario_is_given_again_by_the_caller(given, tmp_path):
    file = tmp_path / "run.sqlite"
    seeded = given == "made"
    given = {"scenario": Weather(rng=5, rain=0.5)} if seeded else given
    model = Rainy(**given, record=file)
    model.run_for(4)
    end(model)
    if seeded:  # a class is recorded by its name
        with pytest.raises(ParameterError, match="scenario: an object"):
            resume(Rainy, file)
    again = resume(Rainy, file, scenario=Weather(rng=5, rain=model.scenario.rain))
    assert again.scenario.rain == model.scenario.rain
    if seeded:
        assert again.walker.luck == model.walker.luck
    for each in (model, again):
        each.run_for(4)
    end(again)
    assert again.drops == model.drops


def wet(model):
    return sum(model.drops)


def alone(rain, seed, steps):
    model = Rainy(Weather(rng=seed, rain=rain))
    model.run_for(steps)
    return wet(model)


def test_a_list_of_scenarios_is_the_design_of_a_study(tmp_path):
    file, rains = tmp_path / "study.sqlite", [Weather(rain=0.1), Weather(rain=0.75)]
    given = {"outcomes": {"wet": wet}, "store": file}
    study = Study(Rainy, rains, seeds=[5, 6], steps=4, **given)
    assert study.run("serial", progress=False).counts["finished"] == 4
    runs = study.results().runs
    assert list(runs["rain"]) == [0.1, 0.1, 0.75, 0.75]
    assert list(runs["seed"]) == [5, 6, 5, 6]
    assert list(runs["wet"]) == [
        alone(*each, 4) for each in zip(runs["rain"], runs["seed"])
    ]
    study = Study(Rainy, rains, seeds=[5, 6, 7], steps=7, **given)
    assert study.run("serial", progress=False).finished
    runs = study.results().runs
    assert list(runs["steps"]) == [7] * 6
    assert list(runs["wet"]) == [
        alone(*each, 7) for each in zip(runs["rain"], runs["seed"])
    ]


def shout(model):
    for agent in model.people:
        implant(agent, "message", {"message": "The bridge is on fire!", "sender": 9})


def test_arms_of_a_study_that_begin_alike_ask_for_it_once(tmp_path):
    def lived(name, changes):
        given = {"llm": {"counting": CountingLLM()}} | changes
        made = {"outcomes": {"said": prompts}, "store": tmp_path / name}
        study = Study(Village, given, seeds=[42], steps=8, **made)
        ASKED.clear()
        assert study.run("serial", progress=False).finished
        return study.results().runs["said"].tolist(), len(ASKED)

    both, asked = lived("both.sqlite", {"change": [None, ChangeAfter(5, shout)]})
    plain, all_steps = lived("plain.sqlite", {})
    changed, again = lived("changed.sqlite", {"change": [ChangeAfter(5, shout)]})
    assert both == plain + changed
    assert all_steps < asked < all_steps + again


def test_after_a_failed_step_the_model_goes_on(tmp_path):
    model = Village(tmp_path / "run.sqlite", llm=CountingLLM(), rng=1, broken_at=2)
    model.step()
    with pytest.raises(RuntimeError, match="a broken step"):
        model.step()
    model.step()
    model.run_for(1)
    end(model)
    assert model.calls == 4
    assert open_run(tmp_path / "run.sqlite").steps == [1, 3, 4]


def test_a_step_that_is_cut_short_is_no_finished_step(tmp_path):
    model = Village(tmp_path / "run.sqlite", llm=CountingLLM(), rng=1, broken_at=2)
    with pytest.raises(RuntimeError, match="a broken step"):
        model.run_for(5)
    end(model)
    run = open_run(tmp_path / "run.sqlite")
    assert run.steps == [1]
    assert list(run.runs()["state"]) == ["failed"]


def test_a_run_that_stops_between_two_steps_goes_on_there(tmp_path):
    file = tmp_path / "run.sqlite"
    model = Village(file, llm=CountingLLM(), rng=1)
    model.run_until(2.6)
    end(model)
    assert list(open_run(file).runs()["state"]) == ["finished"]
    again = resume(Village, file, llm=CountingLLM())
    assert again.time == 2.6
    again.run_until(4)
    end(again)
    assert open_run(file).steps == [1, 2, 3, 4]


def test_a_copy_goes_on_by_itself(tmp_path):
    model = Village(tmp_path / "run.sqlite", llm=CountingLLM(), rng=1)
    model.step()
    twin = copy.deepcopy(model)
    twin.run_for(2)
    model.step()
    end(model)
    assert (twin.calls, model.calls) == (3, 2)
    assert open_run(tmp_path / "run.sqlite").steps == [1, 2]


def test_a_model_can_be_pickled():
    model = Village(llm="offline", rng=1)
    model.step()
    again = pickle.loads(pickle.dumps(model))
    again.step()
    assert (again.calls, model.calls) == (2, 1)


def test_the_dashboard_has_its_data(tmp_path):
    model = Village(llm=CountingLLM(), rng=1)
    feed = live_feed(model)
    model.run_for(5)
    source = feed.refresh()
    assert source.steps == [1, 2, 3, 4, 5]
    found = source.of(activity.activity)
    assert list(found.steps) == [1, 2, 3, 4, 5]
    assert list(found.agents) == [1, 2, 3]
    assert found.measure("events").sum() > 0
