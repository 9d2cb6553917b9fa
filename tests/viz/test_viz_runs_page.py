"""The runs of a page in the browser: a list, and all of them in one chart."""

import pytest

from mesa_memory import Recording
from mesa_memory.examples.rumor.model import RumorModel
from tests.support.browser import Window
from tests.support.dashboards import dashboard
from tests.support.playing import play

pytestmark = pytest.mark.slow
#: what differs of the runs, in their names and in the legend
TOLD = ["memory short_term, seed 1", "memory short_term, seed 2", "memory stlt, seed 1"]


@pytest.fixture(scope="module")
def window(chromium, tmp_path_factory):
    """Three runs: short-term memories with two seeds, and a named one of other ones."""
    file = str(tmp_path_factory.mktemp("runs") / "towns.sqlite")
    for memory, seed, name in (
        ("short_term", 1, None),
        ("short_term", 2, None),
        ("stlt", 1, "the other one"),
    ):
        play(RumorModel(4, memory, rng=seed, record=Recording(file, name=name)), 3)
    runs = [f"{file}#{number}" for number in (1, 2, 3)]
    with dashboard(*runs) as base, Window(chromium, base) as opened:
        yield opened


def test_a_run_is_chosen_from_the_list_and_named_by_the_address(window):
    window.open("?view=population")
    runs = window.page.get_by_label("Run", exact=True)
    names = runs.locator("option").all_inner_texts()
    assert [name.split(" · ")[1] for name in names] == [
        f"towns.sqlite#{n}" for n in (1, 2, 3)
    ]
    told = [name.split(" · ")[0] for name in names]
    assert told == TOLD
    assert "the other one" in names[2]
    runs.select_option(index=2)
    window.until(lambda: "STLTMemory" in window.text(".mm-bar"))
    window.until(lambda: "run=towns-3-" in window.query())


def test_all_runs_are_one_chart(window):
    window.open("?view=compare", see=".mm-chart")
    section = window.page.locator(".mm-section", has_text="All runs in one chart")
    shown = section.get_by_label("Curves show")
    window.until(lambda: shown.count() == 1)
    assert shown.input_value() == "outcome:agents with belief the well is poisoned"
    read = "() => document.querySelector('.mm-chart').__vue__.option.series.map((one) => one.name)"
    short, other = "memory short_term", "memory stlt"
    window.until(lambda: window.page.evaluate(read) == [short, other, short, short])
    shown.select_option("tokens")
    window.until(
        lambda: (
            "At step 3, tokens until the step, mean of runs:" in section.inner_text()
        )
    )
