"""Several runs in one chart, those with other seeds as a band."""

import pandas as pd
import pytest

from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.viz.data import together as data
from mesa_memory.viz.explorer import open_feeds
from mesa_memory.viz.views.compare.together import option
from tests.support.playing import lived, play

DAYS = 4
#: memories and seeds of the towns
MADE = (("short_term", 1), ("short_term", 2), ("episodic", 1))


@pytest.fixture(scope="module")
def towns():
    """Short-term memories with two seeds, and episodic ones."""
    return [lived(RumorModel(5, memory, rng=seed), DAYS) for memory, seed in MADE]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    file = str(tmp_path_factory.mktemp("together") / "towns.sqlite")
    for memory, seed in MADE:
        play(RumorModel(5, memory, rng=seed, record=file), DAYS)
    feeds = open_feeds([(file, n) for n in (1, 2, 3)])
    yield [feed.source for feed in feeds]
    for feed in feeds:
        feed.close()


def grouped(runs):
    return data.groups(
        [one.feed.facts for one in runs], [one.feed.memory for one in runs]
    )


def test_runs_that_differ_in_their_seeds_alone_are_one_group(runs):
    assert grouped(runs) == [("ShortTermMemory", [0, 1]), ("EpisodicMemory", [2])]


def test_a_band_has_mean_lowest_and_highest_of_its_runs(runs, towns):
    known = [town.datacollector.model_vars["knows_rumour"][1:] for town in towns]
    values = [one.of(data.collected)["knows_rumour"] for one in runs]
    assert [list(own) for own in values] == known
    short, episodic = data.bands(grouped(runs), values)
    assert list(short.mean.index) == [1, 2, 3, 4]
    assert short.runs == 2
    assert list(short.low) == [min(pair) for pair in zip(*known[:2])]
    assert list(short.high) == [max(pair) for pair in zip(*known[:2])]
    assert list(short.mean) == [sum(pair) / 2 for pair in zip(*known[:2])]
    for numbers in (episodic.mean, episodic.low, episodic.high):
        assert list(numbers) == known[2]


def test_cost_is_summed_and_a_text_is_looked_for_in_each_run(runs):
    calls = runs[0].of(data.spent, "calls")
    table = runs[0].run.cost((), as_records=True)
    assert calls[DAYS] == table[0]["calls"]
    assert calls.is_monotonic_increasing
    held = runs[2].of(data.holders, "the town well is poisoned")
    assert list(held.index) == [1, 2, 3, 4]
    assert held[1] >= 1


def test_the_chart_has_a_line_for_each_group_in_its_band(runs):
    found = data.bands(grouped(runs), [one.of(data.spent, "calls") for one in runs])
    mean, low, width, other = option(found, "calls")["series"]
    assert mean["name"] == "ShortTermMemory, 2 runs"
    assert other["name"] == "EpisodicMemory"
    assert low["data"] == list(found[0].low)
    assert [a + b for a, b in zip(low["data"], width["data"])] == list(found[0].high)
    assert low["stack"] == width["stack"]
    assert not low["tooltip"]["show"] and "areaStyle" in width


def test_a_run_that_ended_earlier_leaves_the_band_to_the_others():
    values = [pd.Series({1.0: 2.0, 2.0: 4.0}), pd.Series({1.0: 4.0})]
    (band,) = data.bands([("a", [0, 1])], values)
    assert [*map(list, (band.mean, band.low, band.high))] == [[3, 4], [2, 4], [4, 4]]
