"""How the runs of a page are told apart and stay in its list."""

import shutil

import pytest

from mesa_memory import Services
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.viz.explorer import open_feeds
from mesa_memory.viz.live.page_runs import PageRuns
from mesa_memory.viz.serving.run_feed import labels


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
    assert one.startswith("town.sqlite#1 · RumorModel · STLTMemory")
    assert other.startswith("town.sqlite#2 · RumorModel · EpisodicMemory")
    assert "memory episodic" in other
    assert "n_agents" not in one
    assert other.endswith(" · finished")


@pytest.mark.parametrize("record", [True, None], ids=["recorded", "not yet recorded"])
def test_the_runs_of_a_page_stay_in_its_list_for_every_window(record):
    first = town(record=record, days=0)
    page = PageRuns.of(first)
    second = RumorModel(4, memory="episodic", rng=1, record=True)
    made = page.show(second)
    assert PageRuns.of(first) is PageRuns.of(second) is page
    assert [feed.key for feed in page.feeds] == [page.show(first).key, made.key]
    assert page.model(made.key) is page.newest is second
    assert made.all is page.feeds
    assert page.model("gone") is None
    first.step()
    assert PageRuns.of(first) is page
    for model in (first, second):
        Services.of(model).recorder.close()
