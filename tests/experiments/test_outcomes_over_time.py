"""Outcomes over time: the mean or the area of a measure after a step."""

import mesa
import numpy as np
import pytest

from mesa_memory import configure
from mesa_memory.errors import StudyError
from mesa_memory.experiments import After, Plan, Study

STEPS = 6


class Kettle(mesa.Model):
    """Grows warmer by a number at each step, and by chance at first."""

    def __init__(self, heat=1.0, rng=None):
        super().__init__(rng=rng)
        configure(self, llm="offline")
        self.heat, self.warm = heat, float(self.rng.random())

    def step(self):
        self.warm += self.heat


def kettles(tmp_path, measures=("warm",), **given):
    return Study(
        Kettle, {"heat": [1.0, 2.0]}, seeds=range(8), steps=STEPS,
        measures={name: name for name in measures},
        outcomes={
            "late": After("warm", 2), "whole": After("warm", 2, "area"), "warm_end": "warm",
        },
        store=tmp_path / "study.sqlite", record=False, **given,
    )  # fmt: skip


def test_the_mean_and_the_area_are_those_of_the_steps_of_each_run(tmp_path):
    study = kettles(tmp_path, plan=Plan("heat", 1.0, "late", secondary=["whole"]))
    assert study.run("serial", progress=False).counts["finished"] == 16
    results = study.results()
    for _, run in results.runs.iterrows():
        steps = results.steps[results.steps["case"] == run["case"]]
        assert len(steps) == STEPS + 1
        late, whole = steps[steps["step"] > 2], steps[steps["step"] >= 2]
        assert run["late"] == pytest.approx(late["warm"].mean(), abs=1e-12)
        area = np.trapezoid(whole["warm"], whole["step"])
        assert run["whole"] == pytest.approx(area, abs=1e-12)
        assert run["warm_end"] == steps["warm"].iloc[-1]
    # Seeds are paired, so the chance of the beginning cancels: 4.5 and 4 * 4 warmer.
    assert "4.5" in str(study.compare())
    assert study.compare(outcome="whole").contrasts[0].difference.mean == pytest.approx(
        16
    )
    assert "late (the mean of warm after step 2)" in study.methods()
    page = study.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Measures by step" in page and "whole" in page
    assert len(study.curves().axes) == 2


def test_what_is_not_measured_or_has_no_steps_is_told(tmp_path):
    with pytest.raises(ValueError, match="the study lacks this measure"):
        kettles(tmp_path, measures=())
    with pytest.raises(ValueError, match="form must be one of"):
        After("warm", 2, "median")
    with pytest.raises(ValueError, match="step must be"):
        After("warm", -1)
    assert After("warm", 9).of([(8, 1.0), (9, 2.0)]) is None
    assert After("warm", 9, "area").of([(9, 2.0)]) is None
    assert After("warm", 1).of([(2, None), (3, "hot"), (4, True), (5, 3)]) == 2.0
    study = Study(
        Kettle, {"heat": [1.0, 2.0]}, seeds=range(2), steps=1,
        outcomes={"end": "warm"}, store=tmp_path / "other.sqlite", record=False,
    )  # fmt: skip
    study.run("serial", progress=False)
    with pytest.raises(StudyError, match="no measure of the study changes"):
        study.curves()
