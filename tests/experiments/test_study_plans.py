"""A study with a plan makes the seeds that it asks for, and stops."""

import random

import mesa
import pytest

from mesa_memory.errors import StudyChanged
from mesa_memory.experiments import Plan, Study


class Coin(mesa.Model):
    """Its outcome is a share of the seed, an effect, and some noise."""

    def __init__(self, effect=0.0, noise=0.3, rng=None):
        super().__init__(rng=rng)
        shared = self.random.gauss(0, 1)
        own = random.Random(f"{shared} {effect}")  # the noise of this arm alone
        self.x = shared + effect + own.gauss(0, noise)

    def step(self):
        if self.x > 1e6:
            raise ValueError("too high")


def x(model):
    return model.x


LOOKS = Plan("effect", 0.0, "x", margin=0.5, looks=(8, 16, 24))


def study(tmp_path, effects, plan=LOOKS, seeds=24, **given):
    return Study(
        Coin, {"effect": effects}, seeds=range(seeds), steps=1, outcomes={"x": x},
        store=tmp_path / "study.sqlite", plan=plan, **given,
    )  # fmt: skip


def done(found):
    return found.run("serial", progress=False).counts["finished"]


def test_it_stops_at_the_look_that_finds_the_difference(tmp_path):
    found = study(tmp_path, [0.0, 1.0])
    assert done(found) == 2 * 8
    assert found.estimate().runs == 0, "none is missing"
    assert done(found) == 2 * 8  # the looks are made again, and say the same
    told = str(found.compare())
    assert "8 seeds" in told and "Planned before the first run: x of each" in told
    assert "at p < 0.0221" in told
    assert "Exploratory: it is not what the plan" in str(found.compare(margin=0.1))
    text = found.methods()
    assert "8, 16, 24 seeds, each at p < 0.0221" in text and "after 8 seeds" in text


@pytest.mark.slow
def test_it_goes_on_where_nothing_is_found(tmp_path):
    assert done(study(tmp_path, [0.0, 0.001])) == 2 * 24


def test_a_plan_without_looks_compares_once_after_all_seeds(tmp_path):
    found = study(tmp_path, [0.0, 1.0], Plan("effect", 0.0, "x"), seeds=8)
    assert done(found) == 2 * 8
    told = str(found.compare())
    assert (
        "Planned before the first run" in told and "at all seeds, at p < 0.05" in told
    )
    assert "after 8 seeds" in found.methods()


def test_a_plan_that_is_changed_afterwards_is_drift(tmp_path):
    done(study(tmp_path, [0.0, 1.0]))
    other = study(tmp_path, [0.0, 1.0], Plan("effect", 0.0, "x", looks=(8, 24)))
    with pytest.raises(StudyChanged, match="configuration: plan"):
        other.run("serial", progress=False)
    other.run("serial", progress=False, accept_drift=True)
    assert "plan" in other.methods().rpartition("These differences were accepted")[2]


@pytest.mark.slow
def test_several_outcomes_are_corrected_together_and_secondary_ones_are_named(tmp_path):
    """Primary outcomes share one correction; a secondary one has its own, and says so."""
    measured = {"x": x, "twice": lambda model: 2 * model.x, "alone": x}
    plan = Plan("effect", 0.0, ("x", "twice"), {"x": 0.5}, secondary=["alone"])
    found = Study(
        Coin, {"effect": [0.0, 1.0], "noise": [0.3, 0.4]}, seeds=range(8), steps=1,
        outcomes=measured, store=tmp_path / "study.sqlite", plan=plan,
    )  # fmt: skip
    done(found)
    first, second, alone = (
        found.compare(),
        found.compare(outcome="twice"),
        found.compare(outcome="alone"),
    )
    p = first.contrasts[0].difference.p
    assert first.contrasts[0].p_holm == second.contrasts[0].p_holm == 2 * p
    assert alone.contrasts[0].p_holm == p and first.margin == 0.5
    assert second.margin is None
    turned = found.compare(base=1.0)
    assert (turned.outcome, turned.margin, turned.base) == ("x", 0.5, 1.0)
    assert "Exploratory: it is not what the plan" in str(turned)
    assert "Planned before the first run: x and twice of each" in str(second)
    further = "further outcomes: compare(outcome='twice'), compare(outcome='alone')."
    assert further in str(first) and "further outcomes" not in str(second)
    assert "Secondary outcome of the plan" in str(alone)
    assert "p (Holm)" in found.checklist() and "(x, 1.0)" in found.methods()
    page = found.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Secondary outcome of the plan" in page and "<h3>twice</h3>" in page


@pytest.mark.slow
def test_a_plan_compares_effects_between_levels(tmp_path):
    """``by`` stands in plan, comparison, report and checklist."""
    plan = Plan("effect", 0.0, "x", by="noise", looks=(8,))
    found = Study(
        Coin, {"effect": [0.0, 1.0], "noise": [0.3, 0.4]}, seeds=range(8), steps=1,
        outcomes={"x": x}, store=tmp_path / "study.sqlite", plan=plan,
    )  # fmt: skip
    done(found)
    told = found.compare()
    assert "the effect of effect in 0.3 and 0.4: no difference was shown" in str(told)
    assert "Planned before the first run" in str(told)
    assert "between the levels of noise" in found.checklist()
    assert found.seeds_for(interaction=0.1)["1.0: 0.3 minus 0.4"][0] >= 6
    page = found.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "1.0: 0.3 minus 0.4" in page and "From the outcome to one" not in page


def test_a_study_without_a_plan_is_exploratory(tmp_path):
    found = study(tmp_path, [0.0, 1.0], None, seeds=6)
    assert done(found) == 12
    assert "Exploratory: the study has no plan" in str(found.compare(base=1.0))
    assert found.compare().base == 0.0  # the first level, the only factor and outcome


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"factor": "mood"}, "those with several levels are: effect"),
        ({"outcome": ("x", "x")}, "an outcome is named twice"),
        ({"base": 3.0}, r"the levels of 'effect' are \[0.0, 1.0\]"),
        ({"outcome": "y"}, "the outcome 'y'; the study has: x"),
        ({"looks": (8, 40)}, "the plan needs 40 seeds, and the study has 24"),
        ({"looks": (4, 8)}, "a look at 4 seeds and 1 contrast can find"),
    ],
)
def test_a_plan_that_does_not_fit_is_told_before_anything_is_run(
    tmp_path, given, message
):
    wanted = {"factor": "effect", "base": 0.0, "outcome": "x", "looks": (8, 16)}
    with pytest.raises(ValueError, match=message):
        study(tmp_path, [0.0, 1.0], Plan(**(wanted | given)))
