"""The dashboard of recorded runs, in a browser."""

from urllib.parse import parse_qsl, urlencode

import pytest

from mesa_memory import Services
from tests.support.browser import Window, run_key
from tests.support.dashboards import dashboard
from tests.support.hostile import ATTACK
from tests.support.recorded_town import RecordedTown

pytestmark = pytest.mark.slow

STEPS = 8
OPEN_MENU = ".menuable__content__active"


@pytest.fixture(scope="module")
def going(tmp_path_factory):
    """A town whose run is being written by this process, not by the server's."""
    file = str(tmp_path_factory.mktemp("going") / "run.sqlite")
    town = RecordedTown(file, n=3)
    town.step()
    Services.of(town).recorder.sync()
    yield town, file
    Services.of(town).recorder.close()


def chosen(window):
    """The address without the run, which is named as there are several."""
    parts = window.query().split("&")
    return "&".join(part for part in parts if not part.startswith("run="))


@pytest.fixture(scope="module")
def address(town_file, going, hostile):
    """A server with a small run, one that goes on, and a hostile one."""
    with dashboard(town_file, going[1], hostile) as base:
        assert base.startswith("http://127.0.0.1:")
        yield base


def test_the_slider_goes_back_and_shows_the_past(window):
    window.open("?view=agent&agent=2", see="text=Agent 2, step 8")
    window.page.get_by_label("Step back").click()
    window.until(lambda: "Agent 2, step 7" in window.text())
    window.page.keyboard.press("ArrowLeft")
    window.shows(view="agent", agent=2, step=6)
    assert "Agent 2, step 6" in window.text()
    assert chosen(window) == "view=agent&step=6&agent=2"
    assert "On day 6 I sold 6 fish." in window.text()
    assert "On day 7 I sold 0 fish." not in window.text()


def test_a_click_into_the_heat_map_selects_agent_and_step(window):
    window.open("?view=population", see=".mm-heat-canvas")
    box = window.page.locator(".mm-heat-canvas").bounding_box()
    across, down = box["width"] * 2.5 / STEPS, box["height"] * 4.5 / 7
    window.page.mouse.click(box["x"] + across, box["y"] + down)
    window.shows(view="population", step=3, agent=5)
    assert window.step() == "3"
    assert chosen(window) == "view=population&step=3&agent=5"


def test_the_back_button_takes_a_choice_back(window):
    window.open()
    step = window.step()
    window.page.get_by_role("tab", name="Agent", exact=True).click()
    window.shows(view="agent", step=step)
    agent = dict(parse_qsl(chosen(window)))["agent"]
    assert f"Agent {agent}, step {step}" in window.text()
    assert chosen(window) == f"view=agent&step={step}&agent={agent}"
    window.page.go_back()
    window.shows(view="story", step=step, agent=agent)
    assert "Said and did" in window.text()
    assert chosen(window) == ""


def test_a_run_that_is_being_written_shows_its_new_steps(window, going):
    town, place = going
    window.open(f"?run={run_key(place)}&view=agent&agent=2")
    window.shows(agent=2, step=1)
    assert "Agent 2, step 1" in window.text()
    town.step()
    window.shows(agent=2, step=2)
    assert "Agent 2, step 2" in window.text()
    assert "On day 2 I sold" in window.text()
    window.page.get_by_label("Step back").click()
    window.shows(agent=2, step=1)
    assert "Agent 2, step 1" in window.text()
    town.step()
    window.until(lambda: "of 3" in window.text(".mm-step"))
    assert window.step() == "1"
    assert "On day 2 I sold" not in window.text()


#: stands for the hostile run itself
SAME = object()
#: view -> the rest of its address, where something hostile has to be read
HOSTILE_PLACES = {
    "story": (".mm-section", {}),
    "population": (".mm-page", {}),
    "agent": (".mm-section", {}),
    "recall": (".mm-section", {"step": 3}),
    "evidence": (".mm-tree", {}),
    "conversations": (".mm-passages", {}),
    "requests": (".mm-prompt", {"step": 3}),
    "impressions": (".mm-section", {}),
    "spread": (".mm-section", {"text": ATTACK}),
    "cost": (".mm-table", {}),
    "compare": (".mm-section", {"other_run": SAME, "other_agent": "7"}),
}


@pytest.fixture(scope="module")
def shared(chromium, address):
    """One for all views of the hostile file."""
    with Window(chromium, address) as opened:
        yield opened


@pytest.mark.parametrize("view", HOSTILE_PLACES)
def test_a_hostile_file_stays_inert(shared, hostile, view):
    window = shared
    where, rest = HOSTILE_PLACES[view]
    rest = {
        name: run_key(hostile) if value is SAME else value
        for name, value in rest.items()
    }
    chosen = {"run": run_key(hostile), "view": view, "agent": ATTACK, **rest}
    window.open("?" + urlencode(chosen), see=where)
    window.shows(run=chosen["run"], view=view)
    if view == "population":
        runs = window.page.get_by_label("Run", exact=True)
        assert ATTACK in "".join(runs.locator("option").all_inner_texts())
        window.page.locator(".mm-bar .v-select__slot").click()  # the agents
        window.until(lambda: window.page.query_selector(OPEN_MENU))
        assert ATTACK in window.text(OPEN_MENU)
        window.page.keyboard.press("Escape")
        window.until(lambda: not window.page.query_selector(OPEN_MENU))
    read = window.page.locator(where)
    for chart in window.page.locator(".mm-chart").all():
        chart.locator("canvas").first.hover()  # what it says there is markup
    window.until(lambda: ATTACK in "".join(read.all_inner_texts()))
    assert not window.page.query_selector("img[src=x], a[href^=javascript]")
    assert not window.faults
