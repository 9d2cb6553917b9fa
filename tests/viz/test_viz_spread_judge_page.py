"""A judge of a recorded run, in the browser."""

from urllib.parse import parse_qs, urlencode

import pytest

from mesa_memory.examples.rumor.hearsay import RUMOUR, SAYINGS
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.viz.data.spread import groups
from tests.support.browser import Window, browser
from tests.support.dashboards import dashboard
from tests.support.live_views import READ, facts, press
from tests.support.playing import play

pytestmark = pytest.mark.slow
HOLD = "of 12 hold it at step 16"
#: the highest point of the curve of those who hold it now
TOP = """() => Math.max(...[...document.querySelectorAll(".mm-chart")].map(
  (chart) => chart.__vue__.option.series[0].name === "hold it"
    ? chart.__vue__.option.series[0].data.at(-1) : -1))"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("judged") / "run.sqlite"
    play(RumorModel(12, "short_term", rng=42, correction_step=6, record=path), 16)
    return str(path)


def ticks(window):
    given = parse_qs(window.query()).get("spread_ticks", [""])
    return groups.read(given[0])


def holding(window):
    """What the fact and the curve say of the last step."""
    return facts(window.page.evaluate(READ), HOLD)[HOLD], window.page.evaluate(TOP)


def test_verdicts_change_curve_and_address_and_are_taken_back(file):
    choice = {"view": "spread", "text": SAYINGS[RUMOUR], "spread_least": "0.50"}
    with (
        browser() as chromium,
        dashboard(file, "--judge", "offline") as address,
        Window(chromium, address) as window,
    ):
        window.open(f"?{urlencode(choice)}", see="text=Let a model judge")
        before = holding(window)
        assert int(before[0]) == before[1] > 0
        press(window, "Let a model judge")
        window.until(lambda: "changed by the judge" in window.text())
        window.until(lambda: holding(window) == ("0", 0))
        assert False in ticks(window).values()
        link = window.query()
        press(window, "As the similarity says")
        window.until(lambda: holding(window) == before)
        assert ticks(window) == {}
        window.open(f"?{link}", see="text=As the similarity says")
        assert holding(window) == ("0", 0)
