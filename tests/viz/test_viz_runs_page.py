"""The runs of a page in the browser: a table, and all of them in one chart."""

import pytest

from mesa_memory import Recording, Services
from mesa_memory.examples.rumor.model import RumorModel
from tests.support.browser import Window, browser, served
from tests.support.live_views import press

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def window(tmp_path_factory):
    """Three runs: short-term memories with two seeds, and a named one of other ones."""
    file = str(tmp_path_factory.mktemp("runs") / "towns.sqlite")
    for memory, seed, name in (
        ("short_term", 1, None),
        ("short_term", 2, None),
        ("stlt", 1, "the other one"),
    ):
        town = RumorModel(4, memory, rng=seed, record=Recording(file, name=name))
        for _ in range(3):
            town.step()
        Services.of(town).recorder.close()
    runs = [f"{file}#{number}" for number in (1, 2, 3)]
    command = ("-m", "mesa_memory.cli", "dashboard", *runs, "--port", "0", "--no-open")
    with (
        served(*command) as base,
        browser() as chromium,
        Window(chromium, base) as opened,
    ):
        yield opened


def listed(window):
    """The table of runs."""
    return window.page.locator(".mm-section", has_text="Runs of this page")


def names(table):
    return [
        text.strip("▸ ") for text in table.locator("td:first-child").all_inner_texts()
    ]


def test_runs_are_sorted_and_shown_from_a_table(window):
    window.open("?view=population")
    press(window, "Runs")
    table = listed(window)
    window.until(table.is_visible)
    assert names(table) == [f"towns.sqlite#{n}" for n in (1, 2, 3)]
    assert "the other one" in table.inner_text()
    head = table.get_by_role("columnheader", name="seed")
    head.click()
    head.click()
    window.until(lambda: names(table)[0] == "towns.sqlite#2")
    table.get_by_role("button", name="towns.sqlite#3").click()
    window.until(lambda: "STLTMemory" in window.text(".mm-bar"))
    window.until(lambda: "run=towns-3-" in window.query())


def test_all_runs_are_one_chart_with_seeds_as_a_band(window):
    window.open("?view=compare", see=".mm-chart")
    section = window.page.locator(".mm-section", has_text="All runs in one chart")
    shown = section.get_by_label("Curves show")
    window.until(lambda: shown.count() == 1)
    assert shown.input_value() == "model:knows_rumour"
    read = "() => document.querySelector('.mm-chart').__vue__.option.series.map((one) => one.name)"
    both = ["ShortTermMemory, 2 runs"] * 3 + ["STLTMemory"]
    window.until(lambda: window.page.evaluate(read) == both)
    shown.select_option("text")
    window.until(lambda: "Type a sentence" in section.inner_text())
    section.get_by_role("button", name="Look for “").click()
    window.until(lambda: section.locator(".mm-chart").count() == 1)
    assert "together=text" in window.query()
    assert "text=News+of+day+1" in window.query()
