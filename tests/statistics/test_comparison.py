"""A comparison of a study's arms: its unit, what is left out, and what it says."""

import numpy as np
import pandas as pd
import pytest

from mesa_memory.statistics.comparison import compare


def runs(arms, seeds=range(10), replicates=1, noise=0.1, **given):
    """A table of runs whose outcome is the arm's effect, the seed's share and noise."""
    rng = np.random.default_rng(given.pop("rng", 0))
    shared = dict(zip(seeds, rng.normal(size=len(seeds))))
    rows = [
        {"memory": arm, "seed": seed, "replicate": replicate, "state": "finished"}
        | {"x": effect + shared[seed] + rng.normal(0, noise)}
        for arm, effect in arms.items()
        for seed in seeds
        for replicate in range(replicates)
    ]
    frame = pd.DataFrame(rows)
    return frame.assign(case=range(1, len(frame) + 1), **given)


def told(frame, **given):
    return compare(frame, "memory", outcome="x", base="none", **given)


def test_a_row_for_each_arm_and_a_sentence_for_each_finding(tmp_path):
    found = told(runs({"none": 0, "stlt": 0.5, "fact": 0.0}, rng=3), margin=0.2)
    table = found.table().set_index("arm")
    assert list(table.index) == ["stlt", "fact", "none"]
    low, high = table.loc["stlt", ["low", "high"]]
    assert low < 0.5 < high and table.loc["stlt", "p_holm"] == 4 / 2**10
    text = str(found)
    assert "stlt: x differs from none by +0." in text
    assert "p is corrected for 2 arms, the intervals are not." in text
    assert "fact: no difference from none was shown" in text
    assert "fact: no difference larger than 0.2 (p = 0.004); an outcome" in text
    assert "in up to 26% of seeds can be absent from 10 seeds by chance" in text
    assert table.loc["stlt", "rho"] > 0.9
    assert found.plot(tmp_path / "pairs.png").stat().st_size > 10_000


def test_the_unit_is_the_seed_and_order_changes_nothing():
    frame = runs({"none": 0, "stlt": 0.5}, replicates=3)
    seeds = frame.groupby(["memory", "seed"], as_index=False)["x"].mean()
    seeds = seeds.assign(replicate=0, state="finished")
    once, averaged = told(frame), told(seeds)
    values = averaged.contrasts[0].difference.values
    assert once.contrasts[0].difference.values == pytest.approx(values)
    assert once.contrasts[0].difference.seeds == 10
    by_state = frame.sort_values(["replicate", "memory"], kind="stable")
    assert told(by_state).table().equals(once.table())
    parts = once.contrasts[0].parts
    assert parts.model == pytest.approx(0.02, rel=0.6) and parts.seed > 0.5
    assert "variance of the difference of two runs" in str(once)


def test_parts_of_variance_are_those_that_were_put_in():
    rng, shape = np.random.default_rng(1), (400, 5)
    seed = rng.normal(0, 2, shape[0])[:, None]
    frames = []
    for arm in ("none", "stlt"):
        own = rng.normal(0, 1, shape[0])[:, None]
        x = seed + own + rng.normal(0, 0.5, shape)
        place = np.indices(shape).reshape(2, -1)
        rows = {"memory": arm, "seed": place[0], "replicate": place[1], "x": x.ravel()}
        frames.append(pd.DataFrame(rows))
    parts = told(pd.concat(frames).assign(state="finished")).contrasts[0].parts
    assert parts.seed == pytest.approx(2 * 4, rel=0.15)
    assert parts.seed_by_arm == pytest.approx(2 * 1, rel=0.15)
    assert parts.model == pytest.approx(2 * 0.25, rel=0.15)


def test_seeds_that_an_arm_has_not_finished_are_left_out_and_counted():
    frame = runs({"none": 0, "stlt": 0.5})
    frame.loc[frame.query("memory == 'stlt' and seed in [2, 3]").index, "state"] = (
        "failed"
    )
    frame.loc[frame.query("memory == 'none' and seed == 5").index, "state"] = "waiting"
    frame = frame.drop(frame.query("memory == 'stlt' and seed == 7").index)
    found = told(frame)
    assert found.seeds == (0, 1, 4, 6, 8, 9)
    assert found.left_out == {
        2: "stlt failed", 3: "stlt failed", 5: "none is waiting",
        7: "stlt has fewer runs than other arms",
    }  # fmt: skip
    assert "4 seeds are left out (2, 3, 5, 7): stlt failed in 2;" in str(found)
    assert "stlt failed in 20% of the seeds: failure may depend on the arm" in str(
        found
    )


def test_below_six_seeds_there_is_no_verdict_and_below_ten_a_warning():
    assert "no verdict" in str(told(runs({"none": 0, "stlt": 5}, range(5))))
    assert "tests are rough" in str(told(runs({"none": 0, "stlt": 5}, range(9))))
    assert "rough" not in str(told(runs({"none": 0, "stlt": 5}, range(10))))


def of_differences(*arms, margin=None, **given):
    """The text about arms that differ from the base, at each seed, by these values."""
    rows = [
        {"memory": name, "seed": 40 + seed, "x": float(value)}
        for name, values in [("none", [0] * len(arms[0])), *zip("abc", arms)]
        for seed, value in enumerate(values)
    ]
    frame = pd.DataFrame(rows).assign(state="finished", replicate=0)
    return str(told(frame, margin=margin, **given))


CLEAR = [-10, -8, -6, -9, -5, -9.5]


@pytest.mark.parametrize(("seeds", "arms", "needed"), [(6, 3, 7), (5, 1, 6), (6, 2, 7)])
def test_seeds_that_cannot_decide_are_said_to_be_too_few(seeds, arms, needed):
    text = of_differences(*[CLEAR[:seeds]] * arms)
    contrasts = f"{arms} contrast{'s' * (arms > 1)}"
    assert (
        f"{seeds} seeds and {contrasts} cannot show a difference: at least {needed}"
        in text
    )
    assert "no difference" not in text
    wide = of_differences(*[CLEAR[:seeds]] * arms, margin=0.2)
    assert "a: the interval lies beyond 0.2 ([-" in wide and "equivalence" not in wide
    more = of_differences(*[[*CLEAR, *CLEAR][:needed]] * arms)
    assert "differs from none by -" in more and "cannot show" not in more


@pytest.mark.parametrize(
    ("margin", "says"),
    [
        (0.5, "a: the difference is larger than 0.5 ([-"),
        (8, "a: the difference may be larger than 8 (p = "),
        (30, "a: no difference larger than 30 (p < 0.001); an outcome"),
    ],
)
def test_equivalence_does_not_deny_a_difference_that_was_shown(margin, says):
    text = of_differences([*CLEAR, -7, -8], margin=margin)
    assert "a: x differs from none by -7.81" in text
    assert says in text and "equivalence" not in text


@pytest.mark.parametrize(
    ("values", "why"),
    [([0.1, -0.1], "below 6 seeds"), ([-1] * 8, ""), ([0.01] * 8, "without variance")],
)
def test_equivalence_is_not_shown_by_few_seeds_or_none_that_vary(values, why):
    text = of_differences(values, margin=0.5)
    assert "no difference larger" not in text
    beyond = f"equivalence within 0.5 cannot be tested {why}" if why else "beyond 0.5"
    assert beyond in text or "the difference is larger than 0.5" in text


def test_bounds_show_equivalence_of_what_hardly_varies_and_of_nothing_else():
    same = [0.001, -0.001] * 300
    text = of_differences(same, margin=0.1, bounds=(-0.5, 0.5))
    assert "a: no difference larger than 0.1 ([-" in text
    text = of_differences(same[:10], margin=0.1, bounds=(-0.5, 0.5))
    assert "a: equivalence within 0.1 was not shown ([-" in text


def test_a_seed_without_a_number_may_be_left_out():
    frame = runs({"none": 0, "stlt": 0.5})
    frame.loc[frame.query("memory == 'stlt' and seed == 3").index, "x"] = np.nan
    found = told(frame, leave_out_nan=True)
    assert len(found.seeds) == 9 and found.left_out == {3: "stlt has NaN"}
    assert "1 seed is left out (3)" in str(found)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ([0.1, 0.2, -12.5, 0.15, 0.3, 0.2, 0.1, 0.2, 0.1, 0.3], "differs clearly from the others (seed 42: -12.5)"),
        ([0.1, 9, -0.2, 0.15, 8.5, 0.2, 0.1, 0.2], "differ clearly from the others (seed 41: +9, 44: +8.5)"),
        ([5, 6, 5, 6, 5, 6, 5, 6, *[0] * 9], "(seed 40: +5, 41: +6, 42: +5, …)"),
    ],
)  # fmt: skip
def test_the_seeds_that_differ_are_named(values, named):
    assert named in of_differences(values)


def test_an_interval_that_leaves_out_0_is_not_called_no_difference():
    text = of_differences([3, 3.1, 3.2, 0.1, -0.3, 3.3, 3.2, -0.1])
    assert "a: undecided ([" in text and "no difference" not in text


def test_equal_arms_are_said_to_be_equal():
    frame = runs({"none": 0, "stlt": 0}, range(8))
    frame["x"] = frame["seed"].astype(float)
    found = told(frame, margin=0.1)
    assert "stlt: equal to none in all 8 seeds" in str(found)
    assert np.isnan(found.table().loc[0, "p_equivalent"])
    assert found.table().loc[0, ["low", "high", "p"]].tolist() == [0, 0, 1]
    one = found.seeds_for(effect=0.1), found.seeds_for(half_width=0.1)
    assert one == ({"stlt": (6, 6)}, {"stlt": (6, 6)})


def test_levels_of_other_factors_are_averaged_and_said():
    two = [runs({"none": 0, "stlt": 0.5}, rng=rng, llm=f"m{rng}") for rng in (0, 1)]
    found = told(pd.concat(two), others=["llm"])
    assert len(found.seeds) == 10 and "a mean over llm" in str(found)
    each = [told(frame).contrasts[0].difference.mean for frame in two]
    assert found.contrasts[0].difference.mean == pytest.approx(np.mean(each))


@pytest.mark.parametrize(
    ("change", "given", "message"),
    [
        ({}, {"factor": "mind"}, "no factor 'mind'; the columns are memory, seed"),
        ({}, {"outcome": "y"}, "no outcome 'y'; the columns are"),
        ({}, {"base": "stlt2"}, r"base='stlt2' is no level .*\['none', 'stlt'\]"),
        ({"x": "high"}, {}, "must be a finite number .* at seed 0 it is 'high'"),
        ({"x": None}, {}, "in each finished run, and is not in 20 of"),
        ({"x": np.inf}, {}, "the outcome 'x' must be a finite number .* it is inf"),
        ({"x": np.nan}, {}, "at seed 0 it is nan. leave_out_nan=True leaves these"),
        ({}, {"bounds": (0, 1)}, r"got \(0, 1\) for outcomes from -"),
        ({"memory": "none"}, {}, "the single level 'none'"),
        ({"state": "waiting"}, {}, "at least 2 seeds .* 0 of 10 are"),
        ({"seed": None}, {}, "runs without a seed cannot be paired"),
        ({}, {"margin": 0}, "margin must be a number above 0, got 0"),
    ],
)
def test_what_cannot_be_compared_is_said_in_a_sentence(change, given, message):
    frame = runs({"none": 0, "stlt": 0.5}).assign(**change)
    named = {"factor": "memory", "outcome": "x", "base": "none"} | given
    with pytest.raises(ValueError, match=message):
        compare(frame, **named)
