"""The dashboard of recorded runs, in a browser."""

import http.client
from urllib.parse import urlencode, urlsplit

import pytest

from mesa_memory import Services
from mesa_memory.stores import open_store
from tests.support.browser import Window, browser, served
from tests.support.recorded import Story
from tests.support.recorded_town import RecordedTown

STEPS = 8
OPEN_MENU = ".menuable__content__active"
ATTACK = "<img src=x onerror=alert(1)>{{constructor.constructor('alert(2)')()}}"


@pytest.fixture(scope="module")
def going(tmp_path_factory):
    """A town whose run is being written, and its file."""
    file = str(tmp_path_factory.mktemp("going") / "run.sqlite")
    town = RecordedTown(file, n=3)
    town.step()
    recorder = Services.of(town).recorder
    recorder.sync()
    yield town, file
    recorder.close()


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A file in which every name is an attack."""
    file = str(tmp_path_factory.mktemp("hostile") / "run.sqlite")
    store = open_store(file)

    def edit(step, batch):
        for row in batch.opened:
            row["layer"] = row["kind"] = ATTACK
            row["text"], row["content"] = ATTACK, {"text": ATTACK, ATTACK: 1}
        for rows in (batch.opened, batch.agents, batch.prompts, batch.calls):
            for row in (row for row in rows if row["agent"] == "b"):
                row["agent"] = ATTACK
        for row in batch.agents:
            row["unique_id"] = row["agent"]

    Story(store, edit=edit, name=ATTACK, model=ATTACK)
    store.close()
    return file


@pytest.fixture(scope="module")
def address(tmp_path_factory, going, hostile):
    """A server with a small run, one that goes on, and a hostile one."""
    file = str(tmp_path_factory.mktemp("explored") / "run.sqlite")
    town = RecordedTown(file, n=7)
    for _ in range(STEPS):
        town.step()
    Services.of(town).recorder.close()
    options = ("--port", "0", "--no-open")
    command = ("-m", "mesa_memory.cli", "dashboard", file, going[1], hostile, *options)
    with served(*command) as base:
        assert base.startswith("http://127.0.0.1:")
        yield base


@pytest.fixture(scope="module")
def chromium():
    with browser() as started:
        yield started


def test_the_slider_goes_back_and_shows_the_past(chromium, address):
    with Window(chromium, address) as window:
        window.open("?view=agent&agent=2", see="text=Agent 2, step 8")
        window.page.get_by_label("Step back").click()
        window.until(lambda: "Agent 2, step 7" in window.text())
        window.page.keyboard.press("ArrowLeft")
        window.until(lambda: "Agent 2, step 6" in window.text())
        window.until(lambda: window.query() == "view=agent&step=6&agent=2")
        assert "On day 6 I sold 6 fish." in window.text()
        assert "On day 7 I sold 0 fish." not in window.text()


def test_a_click_into_the_heat_map_selects_agent_and_step(chromium, address):
    with Window(chromium, address) as window:
        window.open(see=".mm-heat-canvas")
        box = window.page.locator(".mm-heat-canvas").bounding_box()
        across, down = box["width"] * 2.5 / STEPS, box["height"] * 4.5 / 7
        window.page.mouse.click(box["x"] + across, box["y"] + down)
        window.until(lambda: window.step() == "3")
        window.until(lambda: window.query() == "step=3&agent=5")


def test_the_back_button_takes_a_choice_back(chromium, address):
    with Window(chromium, address) as window:
        window.open()
        window.page.get_by_role("tab", name="Agent").click()
        window.until(lambda: "Agent 1, step 8" in window.text())
        window.until(lambda: window.query() == "view=agent")
        window.page.go_back()
        window.until(lambda: "Layers over time" in window.text())
        assert window.query() == ""


def test_two_sessions_have_selections_of_their_own(chromium, address):
    with Window(chromium, address) as one, Window(chromium, address) as other:
        one.open("?step=2")
        other.open("?step=5")
        one.page.get_by_label("Step forward").click()
        one.until(lambda: one.step() == "3")
        assert other.step() == "5"
        assert other.query() == "step=5"


def test_a_run_that_is_being_written_shows_its_new_steps(chromium, address, going):
    town, _ = going
    with Window(chromium, address) as window:
        window.open("?run=1")
        window.until(lambda: window.step() == "1")
        town.step()
        window.until(lambda: window.step() == "2")
        window.page.get_by_label("Step back").click()
        window.until(lambda: window.step() == "1")
        town.step()
        window.until(lambda: "of 3" in window.text(".mm-step"))
        assert window.step() == "1"


def test_another_name_for_this_machine_is_refused(address):
    port = urlsplit(address).port
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    answers = []
    for name in (f"127.0.0.1:{port}", f"localhost:{port}", "evil.example"):
        connection.request("GET", "/", headers={"Host": name})
        answer = connection.getresponse()
        answer.read()
        answers.append(answer.status)
    connection.close()
    assert answers == [200, 200, 400]


@pytest.mark.parametrize("view", ["population", "agent"])
def test_a_hostile_file_stays_inert(chromium, address, view):
    with Window(chromium, address) as window:
        window.open("?" + urlencode({"run": 2, "view": view, "agent": ATTACK}))
        window.page.wait_for_timeout(500)
        fields = window.page.locator(".mm-bar .v-select__slot")
        for place in range(2):  # the run and the agent
            fields.nth(place).click()
            window.until(lambda: window.page.query_selector(OPEN_MENU))
            assert ATTACK in window.text(OPEN_MENU)
            window.page.keyboard.press("Escape")
            window.until(lambda: not window.page.query_selector(OPEN_MENU))
        if view == "population":
            window.page.locator(".mm-chart canvas").hover()
            window.until(lambda: ATTACK in window.text(".mm-chart"))
        else:
            assert ATTACK in window.text(".mm-section")
        assert not window.page.query_selector("img[src=x]")
