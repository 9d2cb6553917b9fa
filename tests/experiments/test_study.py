"""A study runs what is missing, keeps all of it, and gives it back as tables."""

import numpy as np
import pandas as pd
import pytest
from mesa.experimental.scenarios import Scenario

from mesa_memory import open_run
from mesa_memory.errors import EmptyDesign, StudyError, UnknownMemory
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.experiments import Study
from tests.support.studied import Forgetful, Plain, Street, remembered
from tests.support.study_results import csv, run


def street(file, factors=None, **given):
    chosen = {"memory": ["short_term", "stlt"]} if factors is None else factors
    given = {"seeds": range(2), "steps": 3, "store": file} | given
    return Study(Street, chosen, **given)


def test_each_arm_is_run_with_each_seed_and_all_of_it_is_in_tables(file):
    study = street(file, outcomes={"events": remembered})
    assert run(study).counts["finished"] == 4
    found = study.results()
    assert list(found.runs["memory"]) == ["short_term"] * 2 + ["stlt"] * 2
    assert list(found.runs["seed"]) == [0, 1, 0, 1]
    assert list(found.runs["events"]) == [6] * 4
    assert list(found.steps.query("case == 1")["step"]) == [0, 1, 2, 3]
    assert found.agents.groupby(["case", "step"])["wealth"].sum().tolist() == list(
        found.steps["total"]
    )
    # The same seed is the same world.
    totals = found.steps.pivot_table("total", "step", ["seed", "memory"])
    assert (totals[0]["short_term"] == totals[0]["stlt"]).all()


def place_and_size(model):
    return (model.steps, ("mill", [1.5]))


def test_a_tuple_stays_a_tuple_as_a_factor_a_measure_and_an_outcome(file):
    measured = {"where": place_and_size}
    study = street(file, {"n": [2], "stop": [(1, 2)]}, steps=1, seeds=[0],
                   measures=measured, outcomes={"ended": place_and_size})  # fmt: skip
    run(study)
    found = study.results()
    assert list(found.runs["ended"]) == [(1, ("mill", [1.5]))]
    assert list(found.runs["stop"]) == [(1, 2)]
    assert list(found.steps["where"]) == [(0, ("mill", [1.5])), (1, ("mill", [1.5]))]
    assert study.design.levels("stop") == [(1, 2)]
    with open_run(file) as recorded:
        assert recorded.parameters["stop"] == (1, 2)


def test_every_run_is_recorded_under_its_levels_and_seed(file):
    study = street(file, {"memory": ["short_term", "stlt"], "n": 2})
    run(study)
    names = list(study.results().runs["run"])
    assert names == [
        "Street/memory=short_term,seed=0", "Street/memory=short_term,seed=1",
        "Street/memory=stlt,seed=0", "Street/memory=stlt,seed=1",
    ]  # fmt: skip
    for name in names:
        with open_run(file, name) as recorded:
            assert recorded.steps == [1, 2, 3] and recorded.name == name
            assert len(recorded.state(1)) == 3


def test_names_of_runs_are_different_and_stay_as_a_study_grows(file):
    run(street(file, {}, seeds=[7], steps=1))
    long = {"memory": {"a" * 50 + "!": "stlt", "a" * 50 + "?": "episodic"}}
    for factors in ({"n": [1, -1]}, long, {"memory": Forgetful, "stop": "a/b #c"}):
        run(street(file, factors, seeds=[7], steps=1, replicates=2))
    names = list(street(file).results().runs["run"])
    assert names[0] == "Street/seed=7", "it keeps its name"
    assert names[1:4] == [
        "Street/n=1,seed=7", "Street/n=1,seed=7,replicate=1", "Street/n=-1,seed=7",
    ]  # fmt: skip
    assert names[5].startswith(f"Street/memory={'a' * 40},seed=7,case=")
    assert names[-1] == "Street/memory=Forgetful,stop=a-b-c,seed=7,replicate=1"
    assert len(set(names)) == len(names) == 11


def test_finished_runs_are_not_made_again(file):
    run(street(file))
    before = csv(street(file))
    status = run(street(file))  # another object, as in another process
    assert status.finished and csv(street(file)) == before
    with open_run(file) as recorded:
        assert len(recorded.runs()) == 4


def test_a_failed_run_is_listed_and_stops_no_other_one(file):
    study = street(file, {"bad": 1})
    status = run(study)
    assert status.counts == {"finished": 1, "failed": 1, "stopped": 0, "running": 0,
                             "waiting": 0}  # fmt: skip
    (failed,) = status.failed
    assert failed["parameters"] == {"bad": 1} and failed["seed"] == 1
    assert "ZeroDivisionError: a bad day (studied.py, line" in failed["error"]
    assert failed["run"] == "Street/seed=1"
    said = str(study.status())
    assert "1 finished, 1 failed of 2" in said
    assert "case 2, Street/seed=1: ZeroDivisionError" in said
    assert list(study.results().runs["steps"]) == [3, 1]


def test_a_larger_study_makes_only_what_is_missing(file):
    run(street(file))
    memories = ["short_term", "stlt", "episodic"]
    study = street(file, {"memory": memories}, seeds=[0, 1, 7], steps=5)
    status = run(study)
    assert status.counts["finished"] == 9
    found = study.results()
    assert list(found.runs["steps"]) == [5] * 9
    # The longer runs are what they would have been at once.
    whole = street(file.with_name("whole.sqlite"), steps=5)
    run(whole)
    mine = found.steps.query("case <= 4").to_csv(index=False)
    assert mine == whole.results().steps.to_csv(index=False)


def test_a_memory_may_be_a_name_a_class_or_a_function_with_a_label(file):
    def plain(model):
        return remembered(model)

    factors = {"memory": {"one": Forgetful, "many": "stlt"}, "n": 1}
    study = Study(
        MemorylessStreet, factors, steps=4, store=file, outcomes={"held": plain}
    )
    run(study)
    assert list(study.results().runs["held"]) == [1, 4]
    assert list(study.results().runs["memory"]) == ["one", "many"]


class MemorylessStreet(Street):
    """Does not know that memories can be chosen."""

    def __init__(self, n=2, rng=None):
        super().__init__(n, rng=rng)


class Sized(Scenario):
    """How many walkers."""

    n: int = 2


class ScenarioStreet(Street):
    """A street as its scenario says."""

    def __init__(self, scenario=None, rng=None):
        super().__init__(scenario.n, rng=scenario.rng)
        self.scenario = scenario


def test_mesas_scenarios_are_a_design(file):
    given = [Sized(n=1, rng=5), Sized(n=3, rng=6)]
    own = Study(ScenarioStreet, given, seeds=[None], steps=2, store=file, name="own")
    run(own)
    assert list(own.results().runs["seed"]) == [5, 6]
    seeded = Study(ScenarioStreet, given, seeds=[1, 2], steps=2, store=file)
    run(seeded)
    runs = seeded.results()
    assert list(runs.runs["n"]) == [1, 1, 3, 3]
    assert list(runs.runs["seed"]) == [1, 2, 1, 2]
    assert list(runs.agents.groupby("case")["agent"].nunique()) == [1, 1, 3, 3]


def test_a_model_of_mesas_own_is_studied_as_it_is(file):
    study = Study(
        Plain, {"width": [1, 2]}, seeds=[1, 2], steps=2, store=file,
        measures={"drawn": "drawn"}, record=False,
    )  # fmt: skip
    run(study)
    runs = study.results()
    assert len(runs.runs) == 4 and list(runs.steps["step"].unique()) == [0, 1, 2]
    assert runs.steps.query("seed == 1 and step > 0")["drawn"].tolist() != [0] * 4


def test_a_model_that_stops_by_itself_is_finished(file):
    study = street(file, {"stop": 2}, steps=5)
    assert run(study).finished
    assert list(study.results().runs["steps"]) == [2, 2]
    assert run(street(file, {"stop": 2}, steps=9)).finished


@pytest.mark.parametrize(
    "factors, error, said",
    [
        ({"memory": []}, EmptyDesign, "the factor 'memory' has an empty list"),
        ([], EmptyDesign, "the design is a table without rows"),
        ({"colour": 1}, TypeError, "Street has no argument 'colour': it takes n, mem"),
        ({"n": [object()]}, TypeError, "lacks a name for the tables"),
        ("stlt", TypeError, "a design is a dict of factors"),
    ],
)
def test_what_cannot_be_run_is_said_before_anything_is_run(file, factors, error, said):
    with pytest.raises(error, match=said):
        street(file, factors)
    assert not file.exists()


def test_a_name_that_leads_to_no_memory_lists_those_there_are(file):
    for model in (RumorModel, MemorylessStreet):
        with pytest.raises(UnknownMemory, match="choose from short_term, stlt, long"):
            Study(model, {"memory": ["stlt", "stl"]}, steps=1, store=file)


def test_a_study_that_was_never_run_says_so(file):
    run(street(file))
    with pytest.raises(StudyError, match=r"no study 'other', but \['Street'\]"):
        street(file, name="other").results()


def test_a_misspelt_outcome_is_told_before_a_run_is_made_with_those_there_are(file):
    study = street(file, outcomes={"events": remembered})
    for ask in (
        lambda: study.compare(outcome="evnets"),
        lambda: study.report(file.with_name("report.html"), outcome="evnets"),
        lambda: study.audit("stlt", outcome="evnets", executor="serial"),
    ):
        with pytest.raises(ValueError, match=r"no outcome 'evnets'.* are: events"):
            ask()
    assert not file.exists()
    run(study)
    assert study.compare(outcome="run_calls").outcome == "run_calls"


def test_an_outcome_that_the_model_lacks_is_told_before_its_first_step(file):
    for what, wrong, said in (
        ("outcomes", "wealht", "'wealht', and the Street lacks such an attribute; it has "),
        ("measures", "setps", "'setps', and the Street lacks such an attribute; it has "),
        ("outcomes", lambda model: model.dataclolector.x, "did you mean 'datacollector'"),
    ):  # fmt: skip
        study = street(file, **{what: {"events": wrong}, "seeds": [1]})
        with pytest.raises(StudyError, match=said):
            run(study)
        assert study.status().counts["waiting"] == 2


@pytest.mark.parametrize(
    "seeds",
    [
        np.random.SeedSequence(1).generate_state(2, np.uint64),
        [np.int64(3), 2**127 + 1],
        pd.Series([4.0, 5.0]),
    ],
)
@pytest.mark.parametrize("model", [Street, Plain])
def test_seeds_may_be_the_numbers_of_numpy_and_of_any_size(file, seeds, model):
    study = Study(model, seeds=seeds, steps=1, store=file, record=False)
    status = run(study)
    assert status.finished, status
    found = study.results().runs["seed"]
    assert [int(seed) for seed in found] == [int(seed) for seed in seeds]
    assert Study(model, seeds=map(int, seeds), steps=1).cases.keys() == (
        study.cases.keys()
    )


@pytest.mark.parametrize(
    "seed", [np.random.SeedSequence(1), np.random.default_rng(1), object(), [{1}]]
)
def test_a_seed_that_runs_would_share_is_refused(seed):
    with pytest.raises(TypeError, match="model must be a model class"):
        Study("Street", steps=1)
    with pytest.raises(TypeError, match="outcomes must be a dict of functions"):
        Study(Street, steps=1, outcomes=[len])
    with pytest.raises(TypeError, match="a seed must be a whole number, got"):
        Study(Street, seeds=[seed], steps=1)


def test_numbers_of_numpy_reach_the_model_as_pythons_own(file):
    study = street(file, {"n": np.arange(1, 3), "rng": [np.uint64(7)]}, seeds=[None])
    assert run(study).finished
    table = pd.DataFrame({"n": np.arange(1, 3), "stop": [np.nan, 1]})
    given = [
        dict(case.parameters) for case in street(file, table, seeds=[1]).cases.values()
    ]
    assert given == [{"n": 1}, {"n": 2, "stop": 1}]
    assert all(type(value) is int for row in given for value in row.values())


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"n": [1, 3], "stop": pd.array([None, 2], dtype="Int64")}),
        [{"n": 1}, {"n": 3, "stop": 2}],
    ],
)
def test_a_gap_in_a_table_of_arms_is_the_models_default_and_whole_numbers_stay(
    file, table
):
    study = street(file, table, seeds=[5])
    assert run(study).finished
    runs = study.results().runs
    assert list(runs["stop"]) == [None, 2] and "2.0" not in runs.to_csv()
    assert list(runs["steps"]) == [3, 2]
    assert "2.0" not in study.results().agents.to_csv()
