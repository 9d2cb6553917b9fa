"""The dashboard of recorded runs, in a browser."""

import pytest

from mesa_memory import Services
from tests.support.browser import Window, browser, served
from tests.support.recorded_town import RecordedTown

STEPS = 8


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A server with a small run."""
    file = str(tmp_path_factory.mktemp("explored") / "run.sqlite")
    town = RecordedTown(file, n=7)
    for _ in range(STEPS):
        town.step()
    Services.of(town).recorder.close()
    command = ("-m", "mesa_memory.cli", "dashboard", file, "--port", "0", "--no-open")
    with served(*command) as base:
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
