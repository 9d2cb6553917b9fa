"""What users name and measure stands in the tables of a study as they gave it, or is refused."""

import collections
import datetime
import decimal
import enum
import fractions
import types

import mesa
import numpy as np
import pandas as pd
import pytest

from mesa_memory.errors import MeasureError
from mesa_memory.experiments import Study
from mesa_memory.experiments.studies.results import COLUMNS, KEYS
from tests.support.study_results import run
from tests.support.turns import in_turn


class Mood(enum.Enum):
    GOOD = 1


class Level(enum.IntEnum):
    HIGH = 3


Point = collections.namedtuple("Point", "x y")

#: what an outcome gives, and what the table has
KEPT = {
    "an array of one": (np.array([[2.5]]), 2.5),
    "an array": (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
    "a masked array": (np.ma.array([1, 2], mask=[0, 1]), [1, None]),
    "a scalar of numpy": (np.float32(0.5), 0.5),
    "a Decimal": (decimal.Decimal("0.1"), 0.1),
    "a whole Decimal": (decimal.Decimal("1e20"), 10**20),
    "a whole Fraction": (fractions.Fraction(6, 2), 3),
    "a member of an Enum": (Mood.GOOD, "GOOD"),
    "a member of an IntEnum": (Level.HIGH, 3),
    "a date": (datetime.date(2026, 1, 2), "2026-01-02"),
    "a time": (datetime.datetime(2026, 1, 2, 3, tzinfo=datetime.UTC), "2026-01-02T03:00:00+00:00"),
    "a time of numpy": (np.datetime64("2026-01-02"), "2026-01-02"),
    "a missing time": (pd.NaT, None),
    "a duration": (datetime.timedelta(minutes=2), 120),
    "a duration of numpy": (np.timedelta64(1500, "ms"), 1.5),
    "a set": ({"red", "blue"}, ["blue", "red"]),
    "a read-only dict": (types.MappingProxyType({1: Mood.GOOD}), {"1": "GOOD"}),
    "a named tuple": (Point(1, decimal.Decimal(2)), (1, 2)),
    "keys that are arrays' items": ({np.int64(4): {Mood.GOOD}}, {"4": ["GOOD"]}),
    "a dict that looks like a mark": ({"$object": "x"}, {"$object": "x"}),
}  # fmt: skip
#: what no table can keep, and how it is said
REFUSED = {
    "an object": (object(), "is of the type object, which no table can keep"),
    "bytes in a list": ([1, b"x"], r"is of the type list \(bytes\), which"),
    "two keys of one text": ({1: "a", "1": "b"}, r"dict \(two keys of one text\)"),
    "a huge number": (decimal.Decimal("1e99999999"), "of the type Decimal"),
}
LOOP: list = []
LOOP.append(LOOP)
REFUSED["a list in itself"] = (LOOP, r"list \(more than 12 levels\)")


class Farm(mesa.Model):
    """Has a crop, and collects what its class says.

    Args:
        tax: of the harvest.
    """

    given = None
    reporters: dict = {}
    agents_too: dict = {}

    def __init__(self, tax="low", limit=None, rng=None):
        super().__init__(rng=rng)
        self.tax = tax
        mesa.Agent(self).x = 5
        self.datacollector = mesa.DataCollector(self.reporters, self.agents_too)

    def step(self):
        self.datacollector.collect(self)


def harvest(model):
    return (100 if model.tax == "low" else 200) + model.random.random()


def crop(model):
    return model.given


def farm(tmp_path, factors=None, **given):
    given = {"seeds": [1, 2], "steps": 1, "store": tmp_path / "s.sqlite"} | given
    return Study(Farm, factors or {}, **given)


@in_turn(name=KEPT, recorded=[True, False])
def test_what_an_outcome_or_a_measure_gives_is_in_the_tables(
    tmp_path, monkeypatch, name, recorded
):
    value, kept = KEPT[name]
    monkeypatch.setattr(Farm, "given", value)
    copied = not isinstance(value, types.MappingProxyType)  # by the DataCollector
    monkeypatch.setattr(Farm, "reporters", {"collected": crop} if copied else {})
    study = farm(
        tmp_path, outcomes={"crop": crop}, measures={"now": "given"}, record=recorded
    )
    assert run(study).finished
    found = study.results()
    steps = found.steps[found.steps["step"] == 1]
    columns = [found.runs["crop"], steps["now"]]
    columns += [steps["collected"]] if copied else []
    for column in columns:
        for each in column:
            missing = kept is None and pd.isna(each)
            assert missing or (each == kept and type(each) is type(kept)) or (
                isinstance(kept, int | float) and each == kept
            )  # fmt: skip


def test_what_no_table_can_keep_ends_the_study_in_its_first_run(tmp_path):
    study = farm(tmp_path, outcomes={"crop": agents_of}, seeds=range(9))
    told = r"outcomes\['crop'\] is of the type \w*AgentSet, .*no other run .* was begun"
    with pytest.raises(MeasureError, match=told):
        run(study)
    counts = study.status().counts
    assert (counts["failed"], counts["finished"], counts["waiting"]) == (1, 0, 8)
    assert "Return" not in study.status().failed[0]["error"]
    assert "return a number" in study.status().failed[0]["error"]


def agents_of(model):
    return model.agents if model.steps else None


def test_what_no_table_can_keep_is_told_before_a_run_if_a_new_model_shows_it(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(Farm, "given", b"wheat")
    study = farm(tmp_path, outcomes={"crop": crop})
    with pytest.raises(MeasureError, match=r"type bytes, .* No run was made"):
        run(study)
    assert study.status().counts["waiting"] == 2


@in_turn(name=REFUSED, place=["outcomes", "measures"])
def test_a_value_without_a_plain_form_names_the_outcome_its_type_and_the_cure(
    tmp_path, monkeypatch, name, place
):
    value, said = REFUSED[name]
    monkeypatch.setattr(Farm, "given", value)
    study = farm(tmp_path, **{place: {"crop": crop}})
    with pytest.raises(MeasureError, match=rf"{place}\['crop'\] .*{said}"):
        run(study)


def test_a_variable_of_the_datacollector_that_cannot_be_kept_is_told(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(Farm, "given", object())
    monkeypatch.setattr(Farm, "reporters", {"land": crop, "tax": "tax"})
    study = farm(tmp_path)
    assert run(study).finished
    (told,) = study.results().warnings
    assert "'land' of the DataCollector has values of the type object" in told
    assert list(study.results().steps["tax"]) == ["low"] * 2


@in_turn(
    name=["cost", "calls", "tokens_in", "records_made", "value"], recorded=[True, False]
)
def test_an_outcome_a_measure_and_a_factor_have_the_names_that_users_give(
    tmp_path, name, recorded
):
    """An economist's outcome is called cost; so may be a factor of another study."""
    study = farm(
        tmp_path, {"tax": ["low", "high"]}, seeds=range(8), record=recorded,
        outcomes={name: harvest}, measures={name: harvest},
    )  # fmt: skip
    run(study)
    runs, steps = study.results().runs, study.results().steps
    assert runs.groupby("tax")[name].min().to_dict() == pytest.approx(
        {"low": 100, "high": 200}, abs=1
    )
    assert list(steps[steps["step"] == 1][name]) == list(runs[name])
    assert len(steps) == 2 * len(runs), "the measure of the beginning, too"
    told = study.compare(base="low", outcome=name)
    assert told.contrasts[0].difference.p < 0.01
    assert list(runs["run_calls"]) == [0] * 16
    other = Study(
        lambda rng=None, **given: Farm(given[name], rng=rng), {name: ["low", "high"]},
        seeds=[1], steps=1, store=tmp_path / "other.sqlite",
    )  # fmt: skip
    run(other)
    for table in (other.results().runs, other.results().steps):
        assert table.empty or list(table[name]) == ["low", "high"]


@pytest.mark.parametrize("name", ["seed", "state", "step", "tax"])
def test_a_name_of_another_column_is_kept_or_refused_when_the_study_is_made(
    tmp_path, name
):
    for place, table in (("outcomes", "runs"), ("measures", "steps")):
        taken = name in (*KEYS, *COLUMNS[table], "tax")
        given = {place: {name: harvest}}
        if taken:
            with pytest.raises(ValueError, match=f"{place[:-1]} '{name}' has the name"):
                farm(tmp_path, {"tax": ["low"]}, **given)
        else:
            farm(tmp_path, {"tax": ["low"]}, **given)
    if name != "tax":
        with pytest.raises(ValueError, match=f"the factor '{name}' has the name"):
            Study(lambda rng=None, **given: None, {name: [1, 2]}, steps=1)


def test_a_variable_of_the_datacollector_has_its_name_or_one_that_says_so(
    tmp_path, monkeypatch
):
    names = ["tax", "seed", "step", "agent", "case", "wealth", "collected_seed"]
    monkeypatch.setattr(Farm, "reporters", dict.fromkeys(names, crop))
    monkeypatch.setattr(Farm, "agents_too", dict.fromkeys(names, "x"))
    monkeypatch.setattr(Farm, "given", 7)
    study = farm(tmp_path, {"tax": ["low"]}, seeds=[3], measures={"wealth": "steps"})
    run(study)
    steps, agents = study.results().steps, study.results().agents
    for table, theirs in ((steps[steps["step"] == 1], 7), (agents, 5)):
        (row,) = table.to_dict("records")
        assert (row["tax"], row["seed"], row["step"], row["case"]) == ("low", 3, 1, 1)
        assert row["collected_tax"] == row["collected_step"] == theirs
        assert row["collected_collected_seed"] == row["collected_seed"] == theirs
    assert set(agents["agent"]) == {1} and set(agents["collected_agent"]) == {5}
    assert list(steps["wealth"]) == [0, 1], "the measure"
    assert steps["collected_wealth"].dropna().tolist() == [7]
