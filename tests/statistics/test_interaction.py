"""Differences of differences: false positives, a peer's numbers, and their sentences."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mesa_memory.statistics.comparison import contrasts_of
from mesa_memory.statistics.interaction import compare_effects


def normal(rng, shape):
    return rng.normal(size=shape)


def heavy(rng, shape):
    return rng.standard_t(3, size=shape)


def tipping(rng, shape):
    """A fifth of the runs tips by 0.6."""
    return rng.normal(0, 0.02, shape) - 0.6 * (rng.random(shape) < 0.2)


def null_study(rng, world, seeds):
    """The effect is 0.5 at both levels; seeds share a part of all outcomes."""
    cells = world(rng, (4, seeds, 1)) + rng.normal(size=(seeds, 1))
    cells[1::2] += 0.5
    return contrasts_of({"dd": (cells[1] - cells[0], cells[3] - cells[2])}, None)[0]


@pytest.mark.parametrize(
    ("seeds", "world", "studies"),
    [
        (10, normal, 300),
        *(
            pytest.param(*each, 2_000, marks=pytest.mark.slow)
            for each in itertools.product((6, 10), (normal, heavy, tipping))
        ),
    ],
)
def test_equal_effects_are_seldom_called_different_and_are_covered(
    seeds, world, studies
):
    """Studies without an interaction find one in 5%, and 93% or more cover 0.

    Heavy tails and tipping make a t interval wider than it needs to be at few seeds.
    """
    rng = np.random.default_rng(5)
    # Of a test at 5% one set of studies in a hundred is beyond it.
    limit = 0.05 + 2.33 * (0.05 * 0.95 / studies) ** 0.5
    found = [null_study(rng, world, seeds) for _ in range(studies)]
    assert np.mean([each.p_holm < 0.05 for each in found]) <= limit
    covered = np.mean(
        [low <= 0 <= high for low, high in (e.difference.interval() for e in found)]
    )
    assert 0.93 <= covered <= (0.97 if world is normal else 0.99)


def runs(effects, seeds=12, noise=1.0, rng=0):
    """A table of runs; ``effects`` has the mean of each memory and network."""
    draws = np.random.default_rng(rng)
    shared = draws.normal(0, 5, seeds)
    rows = [
        {"memory": memory, "network": network, "seed": seed, "replicate": 0}
        | {"state": "finished", "x": mean + shared[seed] + draws.normal(0, noise)}
        for (memory, network), mean in effects.items()
        for seed in range(seeds)
    ]
    return pd.DataFrame(rows)


def crossed(ring, star, **more):
    """Effects of ``stlt`` in two networks, and further cells."""
    return {
        ("none", "ring"): 0, ("none", "star"): 3,
        ("stlt", "ring"): ring, ("stlt", "star"): 3 + star,
    } | more  # fmt: skip


def told(frame, **given):
    return compare_effects(
        frame, "memory", by="network", outcome="x", base="none", **given
    )


def test_interval_and_t_are_those_of_a_paired_test_of_both_effects():
    """The interval is scipy's paired t interval of the effects at both levels, to 1e-9."""
    frame = runs(crossed(-2, 1))
    wide = frame.pivot(index="seed", columns=["memory", "network"], values="x")
    ring = wide["stlt", "ring"] - wide["none", "ring"]
    star = wide["stlt", "star"] - wide["none", "star"]
    peer = stats.ttest_rel(ring, star)
    found = told(frame).contrasts[0].difference
    low, high = peer.confidence_interval()
    assert found.interval() == pytest.approx((low, high), abs=1e-9)
    assert found.dz * 12**0.5 == pytest.approx(peer.statistic, abs=1e-9)


@pytest.mark.parametrize(
    ("ring", "star", "says"),
    [
        (-20, 30, ", p < 0.001; it has opposite signs."),
        (20, 30, ", p < 0.001."),
        (-0.02, 30, "; opposite signs are not shown, as one of both effects is not."),
    ],
)
def test_one_sentence_says_whether_the_effect_differs_and_its_sign(ring, star, says):
    """Opposite signs are stated only if both effects are shown."""
    sentence = told(runs(crossed(ring, star), rng=4)).sentences[0]
    assert sentence.startswith(
        f"the effect of memory differs between ring and star: {ring - star:.0f}"[:62]
    )
    assert sentence.endswith(says)


def test_equal_effects_few_seeds_and_equivalence_are_said():
    """A design that cannot show an interaction gives no verdict."""
    frame = runs(crossed(1, 1))
    assert "no difference was shown ([" in told(frame).sentences[0]
    assert "no difference larger than 5 (p" in "\n".join(
        told(frame, margin=5).sentences
    )
    few = told(runs(crossed(1, 90), seeds=5)).sentences[0]
    assert "no verdict" in few and "at least 6" in few
    same = frame.assign(x=(frame["memory"] == "stlt") + frame["seed"] * 1.0)
    assert (
        told(same).sentences[0].endswith("is equal in ring and star in all 12 seeds.")
    )


def test_every_pair_of_levels_is_compared_and_corrected(tmp_path):
    """Three levels and two arms make six contrasts, and the table and plot show all."""
    effects = {
        (memory, network): i * j
        for i, memory in enumerate(["none", "short", "stlt"])
        for j, network in enumerate(["ring", "star", "line"])
    }
    found = told(runs(effects))
    assert len(found.contrasts) == found.family == 6 and len(found.effects) == 6
    assert "short: ring minus star" in set(found.table()["arm"])
    assert "the effect of memory stlt differs between ring and line: -" in str(found)
    assert "p is corrected for 6 contrasts" in str(found)
    assert found.plot(tmp_path / "effects.png").stat().st_size > 10_000
    assert "<pre" in found._repr_html_()
    assert all(least >= 8 for least, _ in found.seeds_for(interaction=2.0).values())
    with pytest.raises(ValueError, match=r"give either interaction=… or half_width=…"):
        found.seeds_for(effect=2.0)


def test_a_cell_that_lacks_a_seed_is_named():
    """A missing run leaves its seed out by name; a missing combination is refused."""
    frame = runs(crossed(1, 2))
    found = told(frame.drop(frame.query("network == 'star' and seed == 3").index[1:]))
    assert found.left_out == {3: "stlt in star has fewer runs than other arms"}
    with pytest.raises(ValueError, match="no runs were made of stlt in star"):
        told(frame.query("memory == 'none' or network == 'ring'"))
    with pytest.raises(ValueError, match="by='memory' must be another factor"):
        compare_effects(frame, "memory", by="memory", outcome="x", base="none")


def test_bounds_are_those_of_a_difference_of_differences():
    """Effects of shares lie within -1 and 1, and their difference within -2 and 2."""
    frame = runs(crossed(0, 0), noise=0).assign(x=lambda f: f["memory"] == "stlt")
    found = told(frame, bounds=(0, 1)).contrasts[0].difference
    assert found.bounds == (0, 2) and found.interval()[0] >= -2
