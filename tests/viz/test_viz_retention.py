"""The views of retention and of drift."""

import pytest

from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.viz.views.retention import drifted, retained
from tests.support.browser import Window
from tests.support.dashboards import dashboard
from tests.support.live_pages import Others
from tests.support.playing import play


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    place = str(tmp_path_factory.mktemp("town") / "run.sqlite")
    play(RumorModel(n_agents=5, memory="stlt", rng=1, record=place), 12)
    return place


@pytest.mark.slow
def test_a_curve_for_each_memory_and_the_statements_kept_and_lost(window, run):
    found = retained(run)
    now = found.curve.iloc[0]
    window.open("?view=retention", see="text=Of statements heard")
    assert f"shown {now['kept']:.0%} of {now['old']} with STLTMemory" in window.text()
    assert "Statements heard 1 step before" in window.text()
    window.open("?view=retention&interval=5", see="text=heard 5 steps ago")


@pytest.mark.slow
def test_the_fates_of_statements_stand_beside_the_evidence(window, run):
    rows = drifted(run)
    kept = sum(row["generation"] == 1 and row["fate"] == "kept" for row in rows)
    window.open("?view=drift", see="text=In generation 1")
    assert f"summaries kept {kept} statements" in window.text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("view", "lacks"), [("drift", "No summary"), ("retention", "No agent read")]
)
def test_a_run_without_what_a_view_compares_says_so(view, lacks, chromium, tmp_path):
    place = str(tmp_path / "run.sqlite")
    play(Others(ours=2, theirs=0, none=0, record=place), 2)
    with dashboard(place) as base, Window(chromium, base) as one:
        one.open(f"?view={view}", see=".mm-empty")
        assert lacks in one.text(".mm-empty")
