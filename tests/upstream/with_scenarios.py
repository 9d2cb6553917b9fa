"""Mesa's ``run_scenarios`` with our store; run by test_mesa_4 where Mesa has it.

Its Mesa-LLM is ``tests/support/coming``, as Mesa-LLM 0.3.2 cannot be imported there.
"""

import os
from concurrent.futures import ProcessPoolExecutor

import mesa
import numpy as np
import pandas as pd
import pytest
from mesa.experimental.data_collection import DataRecorder, DatasetConfig

from mesa_memory import STLTMemory, configure
from mesa_memory.errors import ParameterError, StudyChanged
from mesa_memory.experiments import ScenarioStore, Study

scenarios = pytest.importorskip(
    "mesa.experimental.scenarios", reason="this Mesa has no scenarios"
)
if not hasattr(scenarios, "run_scenarios"):
    pytest.skip("this Mesa has no run_scenarios", allow_module_level=True)

from mesa.experimental.scenarios.store import InMemoryStore, Status, Store  # noqa: E402

STEPS = 5


class Weather(scenarios.Scenario):
    rain: float = 0.25
    people: int = 3
    broken: bool = False
    deadly: bool = False


class Neighbour(mesa.Agent):
    def __init__(self, model):
        super().__init__(model)
        self.memory = STLTMemory(self, short_term_capacity=2, consolidation_capacity=1)
        self.told = 0

    def live(self):
        friend = self.random.choice([a for a in self.model.agents if a is not self])
        text = f"day {self.model.time:g}: {'rain' if self.model.wet else 'sun'}"
        friend.memory.add_to_memory("message", {"message": text, "sender": 1})
        self.memory.process_step()
        self.told = len(self.memory.get_prompt_ready())


class Valley(mesa.Model):
    """People who tell each other the weather, and keep some of it."""

    def __init__(self, scenario=Weather):
        super().__init__(scenario=scenario)
        configure(self, llm="offline")
        self.wet = False
        Neighbour.create_agents(self, scenario.people)
        self.data_registry.track_model(self, "valley", ["rainy", "told"])
        self.data_registry.track_agents(self.agents, "people", ["told"])
        each = {name: DatasetConfig() for name in ("valley", "people")}
        self.data_recorder = DataRecorder(self, each)

    @property
    def rainy(self):
        return rainy(self)

    @property
    def told(self):
        return told(self)

    def step(self):
        if self.scenario.broken and self.time == 3:
            raise RuntimeError("a flood")
        if self.scenario.deadly:
            os._exit(1)
        self.wet = bool(self.rng.random() < self.scenario.rain)
        self.agents.shuffle_do("live")


def rainy(model):
    return int(model.wet)


def told(model):
    """How much all people remember, in characters."""
    return sum(agent.told for agent in model.agents)


def listed(replications=2):
    """New scenarios: a run uses up the random numbers of its own."""
    table = pd.DataFrame({"rain": [0.1, 0.7], "people": [2, 4]})
    return Weather.from_dataframe(table, rng=11, replications=replications)


def run(wanted, store, executor=None):
    config = scenarios.RunConfiguration(Valley, until=STEPS)
    return scenarios.run_scenarios(
        wanted, config, store=store, executor=executor, progress=False
    )


def run_id(scenario):
    return scenarios.RunId(scenario.scenario_id, scenario.replication_id)


def assert_equal(one, other):
    """All of two stores, and each table to its last digit."""
    pd.testing.assert_frame_equal(one.status(), other.status())
    for each in one.succeeded():
        its, theirs = one.retrieve_output(each), other.retrieve_output(each)
        assert its.keys() == theirs.keys()
        for name, table in its.items():
            pd.testing.assert_frame_equal(table, theirs[name], check_exact=True)


def test_a_list_of_scenarios_has_the_same_results_in_a_study_and_in_both_stores(
    tmp_path,
):
    file = tmp_path / "sweep.sqlite"
    store = ScenarioStore(Weather, file)
    assert isinstance(store, Store)
    assert len(run(listed(), store).succeeded()) == 4
    assert_equal(run(listed(), InMemoryStore()), store)
    assert_equal(store, ScenarioStore(Weather, file))

    study = Study(
        Valley, listed(), seeds=[None], steps=STEPS,
        measures={"rainy": rainy, "told": told}, store=tmp_path / "study.sqlite",
    )  # fmt: skip
    assert study.run("serial", progress=False).counts["finished"] == 4
    steps = study.results().steps
    for scenario in listed():
        same = (steps["rain"] == scenario.rain) & (
            steps["replication_id"] == scenario.replication_id
        )
        ours = steps[same & (steps["step"] > 0)]
        its = store.retrieve_output(run_id(scenario))["valley"]
        assert list(ours["step"]) == list(range(1, STEPS + 1))
        its = its[its["time"] > 0]
        assert list(its["time"]) == list(ours["step"])
        assert list(its["told"]) == list(ours["told"]) and its["told"].max() > 0
        assert list(its["rainy"]) == list(ours["rainy"])
    assert steps["rainy"].nunique() == 2


def test_workers_make_the_runs_and_a_store_that_is_opened_again_goes_on(tmp_path):
    file, wanted = tmp_path / "sweep.sqlite", listed(3)
    with ProcessPoolExecutor(2) as workers:
        run(wanted[:4], ScenarioStore(Weather, file), workers)
    store = ScenarioStore(Weather, file)
    store.write_scenarios(wanted[4:])  # and the process ends before they are made
    again = ScenarioStore(Weather, file)
    assert (len(again.succeeded()), len(again.pending())) == (4, 2)
    left = [record.scenario for record in again.pending().values()]
    assert list(map(run_id, left)) == list(map(run_id, wanted[4:]))
    run(left, again)
    assert_equal(run(listed(3), InMemoryStore()), ScenarioStore(Weather, file))
    run(listed(3)[:1], again)  # one that is there: the same output, once
    assert_equal(run(listed(3), InMemoryStore()), ScenarioStore(Weather, file))


def test_failed_and_aborted_runs_are_kept_and_may_be_made_again(tmp_path):
    file = tmp_path / "sweep.sqlite"
    well, broken = (
        Weather(rng=1, scenario_id=0),
        Weather(rng=2, scenario_id=1, broken=True),
    )
    deadly = Weather(rng=3, scenario_id=2, deadly=True)
    run([well, broken], ScenarioStore(Weather, file))
    with ProcessPoolExecutor(1) as workers:
        run([deadly], ScenarioStore(Weather, file), workers)
    store = ScenarioStore(Weather, file)
    states = [Status.SUCCEEDED, Status.FAILED, Status.ABORTED]
    assert [store.check_status(run_id(s)) for s in (well, broken, deadly)] == states
    with pytest.raises(
        scenarios.ScenarioFailedException, match="RuntimeError in running: a flood"
    ):
        store.retrieve_output(run_id(broken))
    with pytest.raises(scenarios.ScenarioAbortedException, match="BrokenProcessPool"):
        store.retrieve_output(run_id(deadly))
    failure = store.failed()[run_id(broken)].failure
    assert "in step" in failure.traceback
    with pytest.raises(scenarios.ScenarioNotFoundException):
        store.mark_failed(scenarios.RunId(9, -1), failure)

    class Mended(scenarios.RunConfiguration):
        def run_model(self, model):
            model.running = False

    left = [r.scenario for r in store.failed().values()]
    scenarios.run_scenarios(left, Mended(Valley, 1), store=store, progress=False)
    again = ScenarioStore(Weather, file)
    assert [len(again.succeeded()), len(again.failed()), len(again.aborted())] == [
        2,
        0,
        1,
    ]


def test_tables_of_any_form_come_back_as_they_were_given(tmp_path):
    tables = {
        "numbers": pd.DataFrame(
            {
                "a": [0.1 + 0.2, np.nan, np.inf],
                "b": [2**62, -1, 0],
                "c": [True, False, True],
            }
        ).astype({"b": "int64"}),
        "small": pd.DataFrame({"x": np.float32([1 / 3]), "y": np.int8([-3])}),
        "words": pd.DataFrame(
            {"who": ["Ann", None, "$tuple"], "what": [[1, 2], {}, (3,)]}
        ),
        "empty": pd.DataFrame({"a": []}),
        "grouped": pd.DataFrame(
            {"told": [1, 2]},
            index=pd.MultiIndex.from_tuples(
                [(0, "a"), (1, "b")], names=["Step", "AgentID"]
            ),
        ),
        "named": pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"], index=[5, 7]),
    }

    class Tables(scenarios.RunConfiguration):
        def extract_output(self, model):
            return tables

    file, scenario = tmp_path / "sweep.sqlite", Weather(rng=1, scenario_id=0)
    store = ScenarioStore(Weather, file)
    scenarios.run_scenarios([scenario], Tables(Valley, 1), store=store, progress=False)
    for each in (store, ScenarioStore(Weather, file)):
        found = each.retrieve_output(run_id(scenario))
        assert list(found) == list(tables)
        for name, table in tables.items():
            pd.testing.assert_frame_equal(found[name], table, check_exact=True)

    tables["odd"] = pd.DataFrame({"a": [object()]})
    with pytest.raises(ParameterError, match="'odd' cannot be written: an object"):
        scenarios.run_scenarios([scenario], Tables(Valley, 1), store=store)
    del tables["odd"]
    assert list(ScenarioStore(Weather, file).retrieve_output(run_id(scenario))) == list(
        tables
    )


def test_a_scenario_is_made_again_with_its_numbers_and_another_in_its_place_is_refused(
    tmp_path,
):
    file = tmp_path / "sweep.sqlite"
    twister = np.random.Generator(np.random.MT19937(5))
    wanted = [
        *listed(), Weather(rng=[1, 2**70], scenario_id=5), Weather(rng=twister, scenario_id=6)
    ]  # fmt: skip
    store = ScenarioStore(Weather, file)
    store.write_scenarios(wanted)
    for given, made in zip(wanted, ScenarioStore(Weather, file).read_scenarios()):
        assert type(made) is Weather and given.to_dict() == made.to_dict()
        assert (
            given.rng.integers(2**62, size=4).tolist()
            == made.rng.integers(2**62, size=4).tolist()
        )
    for other in (
        Weather(rng=11, scenario_id=5),
        Weather(rng=[1, 2**70], rain=1.0, scenario_id=5),
    ):
        with pytest.raises(
            StudyChanged, match="scenario=5,replication=-1 with other param"
        ):
            store.write_scenarios([other])
    with pytest.raises(
        ParameterError, match="a parameter of scenario 7 cannot be written: an obj"
    ):
        store.write_scenarios([Weather(rain=object(), scenario_id=7)])
    assert len(ScenarioStore(Weather, file).pending()) == len(wanted)
