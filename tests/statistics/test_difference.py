"""Paired differences: coverage, false positives and warnings, and peers' numbers."""

import itertools
import warnings

import numpy as np
import pingouin
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import ttost_paired

from mesa_memory.statistics.difference import PairedDifference, holm, share
from mesa_memory.statistics.power import (
    level_of_looks,
    seeds_for_power,
    seeds_for_width,
)
from tests.support.turns import in_turn

STUDIES = 2_000
#: the most of them that a test at 5% rejects, but for one set of studies in a hundred
REJECTED = 0.05 + 2.33 * (0.05 * 0.95 / STUDIES) ** 0.5


def normal(rng, seeds):
    return rng.normal(size=seeds)


def heavy(rng, seeds):
    return rng.standard_t(3, size=seeds)


def shares(rng, seeds):
    """The difference of two shares of 30 agents."""
    chance = rng.beta(5, 5, size=seeds)
    return (rng.binomial(30, chance) - rng.binomial(30, chance)) / 30


def tipping(rng, seeds):
    """A fifth of the seeds tips by 0.6."""
    return rng.normal(0, 0.02, seeds) - 0.6 * (rng.random(seeds) < 0.2)


def replicated(seeds, replicates):
    """Differences that vary by seed and by run, averaged by seed."""

    def draws(rng, _):
        noise = rng.normal(size=(seeds, replicates)).mean(axis=1)
        return rng.normal(size=seeds) + noise

    return draws


def studies(world, seeds, number=STUDIES):
    rng = np.random.default_rng(7)
    for _ in range(number):
        yield PairedDifference(tuple(map(float, world(rng, seeds))))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "seeds"),
    [
        *itertools.product((normal, heavy, shares), (6, 10)),
        # With several runs of each seed, the seed is the unit.
        (replicated(5, 4), 5),
        (replicated(10, 3), 10),
    ],
)
def test_null_studies_are_covered_and_seldom_called_a_difference(world, seeds):
    found = list(studies(world, seeds))
    covered = np.mean(
        [low <= 0 <= high for low, high in map(PairedDifference.interval, found)]
    )
    assert 0.93 <= covered <= 0.97
    assert np.mean([each.p < 0.05 for each in found]) <= REJECTED


@pytest.mark.parametrize(
    ("seeds", "tips", "none"), [(10, 0.88, 0.07), (20, 0.97, 0.02)]
)
def test_a_few_seeds_that_tip_are_told_and_normal_ones_are_not(seeds, tips, none):
    told = [each.tipping is not None for each in studies(tipping, seeds)]
    assert np.mean(told) >= tips
    told = [each.tipping is not None for each in studies(normal, seeds)]
    assert np.mean(told) <= none


@pytest.mark.parametrize("seeds", [2, 5, 8, 12, 30])
def test_each_number_is_that_of_a_peer(seeds):
    values = np.random.default_rng(seeds).normal(0.3, 1, seeds)
    found = PairedDifference(tuple(values))
    with warnings.catch_warnings():  # of pingouin, on two values
        warnings.simplefilter("ignore")
        peer = pingouin.ttest(values, 0).iloc[0]
        other = pingouin.tost(values, np.zeros(seeds), bound=0.5, paired=True)
    column = next(name for name in peer.index if name.startswith("CI95"))
    assert found.interval() == pytest.approx(
        stats.t.interval(0.95, seeds - 1, values.mean(), stats.sem(values)), abs=1e-9
    )
    assert found.interval() == pytest.approx(tuple(peer[column]), abs=0.011)
    assert found.dz == pytest.approx(values.mean() / values.std(ddof=1), abs=1e-9)
    p = ttost_paired(values, np.zeros(seeds), -0.5, 0.5)[0]
    if seeds >= 6:
        assert found.equivalence(0.5) == pytest.approx(p, abs=1e-9)
        assert found.equivalence(0.5) == pytest.approx(other.iloc[0]["pval"], abs=1e-9)
    if seeds <= 12:
        signs = np.array(np.meshgrid(*[[-1, 1]] * seeds)).reshape(seeds, -1).T
        means = signs @ values / seeds
        beyond = np.abs(means) >= abs(values.mean()) - 1e-12
        assert found.p == pytest.approx(beyond.mean(), abs=1e-9)


def test_corrections_shares_and_sample_sizes_are_those_of_a_peer():
    ps = [0.01, 0.04, 0.03, 0.005, 0.5]
    peer = multipletests(ps, method="holm")[1]
    assert holm(ps) == pytest.approx(list(peer), abs=1e-9)
    peer = proportion_confint(2, 10, method="wilson")
    assert share(2, 10)[1:] == pytest.approx(peer, abs=1e-9)
    for effect in (0.46, 0.8, 0.2):
        seeds = seeds_for_power(1.0, effect)
        power = TTestPower().power
        assert power(effect, seeds, 0.05) >= 0.8 > power(effect, seeds - 1, 0.05)
    assert (seeds_for_power(0.05, 0.023), seeds_for_width(0.05, 0.05)) == (40, 7)


def test_three_looks_keep_their_promise():
    # Pocock (1977), table 1: three equal looks need p < 0.0221.
    assert level_of_looks((10, 20, 30)) == pytest.approx(0.0221, abs=1e-4)
    looks = (10, 20, 40)
    level, rng = level_of_looks(looks), np.random.default_rng(3)
    draws = rng.normal(size=(20_000, 40))
    z = np.stack([draws[:, :n].sum(1) / np.sqrt(n) for n in looks])
    errs = np.mean((2 * stats.norm.sf(np.abs(z)) < level).any(0))
    assert 0.045 <= errs <= 0.055


@in_turn(quick=2, contrasts=[1, 2, 8], dz=[0.7, 1.5])
def test_planned_seeds_reach_their_power_for_the_test_that_is_used(dz, contrasts):
    seeds = seeds_for_power(1.0, dz, 0.8, contrasts)
    rng = np.random.default_rng(11)
    found = [
        PairedDifference(tuple(rng.normal(dz, 1, seeds))).p < 0.05 / contrasts
        for _ in range(300)
    ]
    assert 0.74 <= np.mean(found) <= 0.93


def collapsing(rng, seeds):
    """The arm collapses in 15% of the seeds, so that the mean difference is -0.105."""
    return -0.7 * (rng.random(seeds) < 0.15)


@pytest.mark.parametrize("seeds", [6, 10, 20])
def test_bounds_cover_a_tipping_outcome_and_do_not_call_it_equal(seeds):
    rng, within, covered = np.random.default_rng(1), 0, 0
    for _ in range(250):
        values = tuple(map(float, collapsing(rng, seeds) + rng.normal(0, 1e-3, seeds)))
        low, high = PairedDifference(values, (0, 1)).interval()
        within += low > -0.1 and high < 0.1
        covered += low <= -0.105 <= high
    assert within <= 0.05 * 250 and covered >= 0.95 * 250


def test_counts_that_differ_by_one_are_no_tipping():
    assert PairedDifference((7, 8, 7, 8, 8, 7, 7, 8)).tipping is None
    assert PairedDifference((7, 7, 7, 8, 7, 7, 7, 7)).tipping is None
    assert PairedDifference((0, 0, 1, 0, 0, 0, 1, 0)).tipping == (2, 6)


def test_differences_that_do_not_vary_have_no_spread_to_divide_by():
    same = PairedDifference((0.0,) * 8)
    assert same.equal and same.p == 1.0 and same.interval() == (0.0, 0.0)
    assert same.dz is None and same.tipping is None
    shifted = PairedDifference((0.1 + 0.2, 0.3, 0.3, 0.3))  # equal but for rounding
    assert shifted.constant and not shifted.equal and shifted.dz is None
    assert shifted.p == 0.125 and shifted.equivalence(1) is None
