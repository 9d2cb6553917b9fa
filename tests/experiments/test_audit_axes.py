"""An audit finds what must not matter and does, on its own axis, and blames no clean town."""

import random

import mesa
import numpy as np
import pytest

from mesa_memory import configure
from mesa_memory.experiments import Plan, Study
from mesa_memory.experiments.axes import FRAGILE, SHIFTED, judged
from mesa_memory.experiments.controls import OUTSIDE
from mesa_memory.statistics.comparison import Contrast
from mesa_memory.statistics.difference import PairedDifference
from tests.support.zoo import FAULTS, Town, afraid, audited


@pytest.fixture(autouse=True)
def _seeded():
    random.seed(
        3
    )  # the town with chances of its own is the same in each run of the test


def alarms(found):
    return {each.axis for each in found.axes if each.verdict in (SHIFTED, FRAGILE)}


@pytest.mark.parametrize(
    "fault", [f for f, axis in FAULTS.items() if axis != "wording"]
)
def test_a_planted_fault_is_caught_by_its_axis(fault, tmp_path):
    axis = FAULTS[fault]
    seeds = range(2 if axis in ("sharing", "streams") else 6)
    found = audited(tmp_path / "s.sqlite", fault, seeds, axes=[axis])
    assert alarms(found) == {axis}, str(found)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_caught_by_its_axis_and_by_no_other(fault, tmp_path):
    found = audited(tmp_path / "s.sqlite", fault)
    assert alarms(found) == {FAULTS[fault]}, str(found)


@pytest.mark.parametrize("world", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_clean_town_is_clean(world, tmp_path):
    number, axes = (10, None) if world else (6, ["order", "ids", "sharing", "streams"])
    seeds = range(10 * world, 10 * world + number)
    found = audited(tmp_path / "s.sqlite", None, seeds, axes=axes)
    assert not alarms(found), str(found)
    assert OUTSIDE in str(found)


def town(store, plan=None):
    study = Study(
        Town, {"memory": ["none", "short_term"]}, seeds=range(2), steps=1, plan=plan,
        outcomes={"afraid": afraid}, store=store, record=False,
    )  # fmt: skip
    study.run("serial", progress=False)
    return study


def test_levels_are_given_the_price_is_said_first_and_what_cannot_be_tested_has_a_reason(
    tmp_path, caplog
):
    study = town(tmp_path / "s.sqlite")
    found = study.audit(
        "short_term", base="none", axes=("model", "size"), executor="serial",
        given={"size": {"poison": [0.0]}}, progress=False,
    )  # fmt: skip
    model, size = found.axes
    assert str(model) == "model: cannot be tested; give given={'model': …}."
    assert size.why.startswith("poison 0.0 changes the effect by")
    assert "makes up to 8 runs of 1 steps, about 0.00 US dollars" in caplog.text
    with pytest.raises(ValueError, match="axes must be some of wording, order"):
        study.audit("short_term", axes=("mood",))


def test_effects_of_a_bounded_outcome_have_twice_its_bounds(tmp_path):
    plan = Plan("memory", base="none", outcome="afraid", margin=0.1, bounds=(0, 1))
    study = town(tmp_path / "s.sqlite", plan=plan)
    given = {"axes": ["order"], "executor": "serial", "progress": False}
    (effect,) = study.audit("short_term", base="none", **given).axes
    (alone,) = study.audit("short_term", **given).axes
    assert effect.shift.bounds == (0, 2) and alone.shift.bounds == (0, 1)


class Alone(mesa.Model):
    """One agent without a name or a memory."""

    def __init__(self, memory="none", rng=None):
        super().__init__(rng=rng)
        configure(self, llm="offline")
        mesa.Agent(self)


def test_a_model_with_one_nameless_agent_has_no_order_ids_and_names(tmp_path):
    study = Study(
        Alone, {"memory": ["none", "short_term"]}, seeds=range(2), steps=1, record=False,
        outcomes={"n": lambda model: len(model.agents)}, store=tmp_path / "s.sqlite",
    )  # fmt: skip
    study.run("serial", progress=False)
    axes = ("order", "ids", "names")
    found = study.audit("short_term", axes=axes, executor="serial", progress=False)
    assert {each.verdict for each in found.axes} == {"cannot be tested"}


@pytest.mark.parametrize(
    "before, after, margin, verdict",
    [
        ([0.5, 0.6] * 5, [0.52, 0.59] * 5, 0.1, "robust"),
        ([0.5, 0.6] * 5, [0.7, 0.81] * 5, 0.1, "shifted"),
        ([0.5, 0.6] * 5, [-0.5, -0.41] * 5, 0.1, "fragile"),
        ([0.5, 0.6] * 5, [0.9, 0.2] * 5, 0.1, "not decided"),
        ([0.5, 0.6] * 5, [0.51, 0.6, 0.49] + [0.6, 0.5] * 3 + [0.6], None, "not decided"),
    ],
)  # fmt: skip
def test_a_verdict_follows_from_interval_margin_and_effect(before, after, margin, verdict):  # fmt: skip
    shift = PairedDifference(tuple(np.subtract(after, before)))
    turn = Contrast("order", 0.0, shift, None, shift.p)
    found = judged("order", turn, np.array(before), margin, 1, True)
    assert found.verdict == verdict, found


@pytest.mark.parametrize(("mean", "seeds"), [(0.02, 25), (0.09, 38), (0.3, 7)])
def test_seeds_that_are_needed_show_a_shift_or_its_absence(mean, seeds):
    values = mean + 0.18 * np.array([-1, 1, -1.2, 1.2, -0.6, 0.6])
    turn = Contrast("order", 0.0, PairedDifference(tuple(values)), None, 0.5)
    found = judged("order", turn, np.ones(6), 0.1, 1, True)
    assert found.why.endswith(f"about {seeds} seeds are needed")


def test_the_checklist_names_the_audits_of_the_store(tmp_path):
    study = town(tmp_path / "s.sqlite")
    assert "Audited in the same store" not in study.checklist()
    study.audit("short_term", axes=["sharing"], executor="serial", progress=False)
    assert "store: Town, axes of short_term." in study.checklist()
