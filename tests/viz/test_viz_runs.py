"""How the runs of a page are told apart and stay in its list."""

import shutil

import pandas as pd
import pytest

from mesa_memory import Services
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.experiments import Study
from mesa_memory.viz.explorer import open_feeds
from mesa_memory.viz.serving.live_run import labels, short_labels
from mesa_memory.viz.views import compare
from mesa_memory.viz.views.focus import Focus
from tests.viz.test_viz_selection import selection


def town(memory="stlt", rng=1, record=True, days=2):
    model = RumorModel(4, memory=memory, rng=rng, record=record)
    for _ in range(days):
        model.step()
    return model


@pytest.fixture
def file(tmp_path):
    """A store with two runs."""
    path = str(tmp_path / "town.sqlite")
    for memory in ("stlt", "episodic"):
        Services.of(town(memory, record=path)).recorder.close()
    return path


@pytest.fixture
def opened():
    """Opens runs, which are closed after the test."""
    found = []

    def feeds(*runs):
        found.extend(made := open_feeds(runs))
        return made

    yield feeds
    for feed in found:
        feed.close()


def test_a_run_has_the_same_address_whatever_is_shown_beside_it(file, tmp_path, opened):
    other = str(tmp_path / "other.sqlite")
    Services.of(town(rng=5, record=other)).recorder.close()
    first, second = opened((file, 1), (file, 2))
    behind = opened((other, 1), (file, 2), (file, 1))
    assert [feed.key for feed in behind[1:]] == [second.key, first.key]
    assert len({feed.key for feed in behind}) == 3
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    shutil.copy(file, moved / "town.sqlite")
    (there,) = opened((str(moved / "town.sqlite"), 1))
    assert there.key == first.key
    both = opened((file, 1), (str(moved / "town.sqlite"), 1))
    assert both[0].key != both[1].key


def test_runs_are_named_by_file_memory_what_differs_and_state(file, opened):
    feeds = opened((file, 1), (file, 2))
    one, other = labels(feeds).values()
    assert one.startswith("memory stlt · town.sqlite#1 · RumorModel · STLTMemory")
    assert other.startswith("memory episodic · town.sqlite#2 · RumorModel · Episodic")
    assert "n_agents" not in one
    assert other.endswith(" · finished")


def moved(model):
    return float(model.steps)


@pytest.mark.slow
def test_arms_and_seeds_are_told_apart_by_the_first_words_of_their_names(
    tmp_path, opened
):
    place = str(tmp_path / "a_study_with_a_very_long_name_of_its_file.sqlite")
    arms = ["stlt", "episodic", "short_term"]
    study = Study(
        RumorModel, {"memory": arms, "n_agents": 4}, seeds=[3, 4], steps=2,
        store=place, outcomes={"moved": moved}, measures={"steps so far": moved},
    )  # fmt: skip
    study.run(progress=False)
    feeds = opened(*((place, number) for number in range(1, 7)))
    told = {f"memory {arm}, seed {seed}" for arm in arms for seed in (3, 4)}
    assert set(short_labels(feeds).values()) == told
    assert {name.split(" · ")[0] for name in labels(feeds).values()} == told
    assert all(
        f"· seed {seed}" not in name
        for name in labels(feeds).values()
        for seed in (3, 4)
    )
    assert len({id(feed.run.store) for feed in feeds}) == 1
    for feed in feeds:
        own = Focus(feed.source, selection(), 1, 2)
        beside = compare._other_source(own).feed.facts
        assert beside.seed == feed.facts.seed
        assert beside.parameters["memory"] != feed.facts.parameters["memory"]
    of_arm = [
        n for n, f in enumerate(feeds, 1) if f.facts.parameters["memory"] == "stlt"
    ]
    alone, other = opened(*((place, number) for number in of_arm))
    beside = compare._other_source(Focus(alone.source, selection(), 1, 2))
    assert beside.feed is other, "without another arm, another seed"
    numbers = compare.numbers(feeds[0].run)
    assert numbers["measure:steps so far"].to_dict() == {0: 0.0, 1: 1.0, 2: 2.0}
    names = list(numbers)
    kinds = [name.partition(":")[0] for name in names]
    assert list(dict.fromkeys(kinds)) == [
        *("outcome", "measure", "model", "calls", "tokens", "cost")
    ]
    assert names[0] == "outcome:agents with belief the well is poisoned"


def test_a_study_is_one_line_for_each_arm_with_its_runs_faint_in_its_colour():
    of_arm = ["stlt", "episodic", "none", "stlt", "episodic"]
    table = pd.DataFrame({n: [n, 2.0 * n] for n in range(5)}, index=[1.0, 2.0])
    lines = compare.by_arm(table, of_arm)
    thick, thin = lines[:3], lines[3:]
    assert {line["name"]: line["data"] for line in thick} == {
        "stlt": [1.5, 3], "episodic": [2.5, 5], "none": [2, 4],
    }  # fmt: skip
    colours = {line["name"]: line["color"] for line in thick}
    assert len(set(colours.values())) == 3
    runs = [(line["name"], line["data"][0]) for line in thin]
    assert runs == [("stlt", 0), ("episodic", 1), ("stlt", 3), ("episodic", 4)]
    for line in thin:
        assert line["color"] == colours[line["name"]]
        assert line["lineStyle"]["opacity"] < 0.5 and not line["tooltip"]["show"]
