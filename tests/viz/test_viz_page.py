"""The dashboard of running models, in a browser."""

import csv
from pathlib import Path

import pytest

from tests.support.browser import Window
from tests.support.dashboards import live_pages
from tests.support.live_pages import HOSTILE
from tests.support.live_views import VIEWS, Twin, agrees, choose, press, turn

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address():
    with live_pages() as base:
        yield base


@pytest.fixture(scope="module")
def twin():
    made = Twin()
    yield made
    made.close()


@pytest.fixture(scope="module")
def page(chromium, address):
    """A page in which the model has made its first step; its window is wide."""
    with Window(chromium, address) as window:
        window.page.set_viewport_size({"width": 1900, "height": 1000})
        window.open("minds", see="text=No step is finished yet")
        press(window, "Step")
        window.shows(step=1)
        yield window


def test_step_and_play_update_the_views_in_mesas_own_page(window):
    window.open("?view=population", see="text=No step is finished yet")
    press(window, "Step")
    window.shows(step=1)
    assert "Belief by agent and step" in window.text()
    press(window, "▶")
    window.sometime(lambda: int(window.step()) >= 4)
    press(window, "❚❚")
    window.page.get_by_label("Step back").click()
    window.until(lambda: "newest" not in window.text(".mm-timeline"))
    before, last = window.step(), window.text(".mm-of")
    press(window, "Step")
    window.until(lambda: window.text(".mm-of") != last)
    assert window.step() == before


def tab(window, number):
    window.page.get_by_role("tab", name=f"Page {number}", exact=True).click()


def test_a_tab_of_mesas_page_shows_all_steps_whenever_it_is_opened(window):
    window.page.set_viewport_size({"width": 1900, "height": 1000})
    window.open("ship", see="text=Page 1")
    tab(window, 2)
    for step in range(1, 7):
        press(window, "Step")
        window.until(lambda: f"Time: {step}" in window.text().replace(".0", ""))
    tab(window, 1)
    window.shows(view="story", step=6)
    said = window.text()
    assert "mean mood of 3 agents: 0.5" in said
    assert "no outcome" not in said
    assert "not recorded" not in said and "The record begins" not in said
    assert "It read its memory" in said or "Read (" in said
    assert "none 0" not in window.text(".mm-stage-legend")
    assert "0.5" in window.text(".mm-stage-legend")
    window.page.get_by_label("Step back").click()
    window.shows(view="story", step=5)
    press(window, "▶")
    window.sometime(lambda: int(window.text(".mm-of").split()[-1]) >= 8)
    press(window, "❚❚")
    tab(window, 2)
    window.page.get_by_role("slider", name="Sailors").focus()
    window.page.keyboard.press("ArrowRight")
    window.settled()
    press(window, "Reset")
    window.until(lambda: "Time: 0" in window.text())
    for step in (1, 2):
        press(window, "Step")
        window.until(lambda: f"Time: {step}" in window.text().replace(".0", ""))
    tab(window, 1)
    window.shows(view="story", step=2)
    assert "mean mood of 4 agents" in window.text()
    assert "The record begins" not in window.text()
    runs = window.page.get_by_label("Run", exact=True)
    assert runs.locator("option").count() == 2
    runs.select_option(index=0)
    window.until(lambda: "mean mood of 3 agents" in window.text())


def test_mesas_own_page_says_so_if_its_controls_play_another_run(window):
    window.open("?view=population", see="text=No step is finished yet")
    press(window, "Step")
    window.shows(step=1)
    press(window, "Reset")
    window.until(lambda: "No step is finished yet" in window.text())
    assert "Another run is shown" not in window.text()
    window.page.get_by_label("Run", exact=True).select_option(index=0)
    window.shows(step=1)
    assert "Another run is shown than the one that the controls" in window.text()


def test_a_table_is_downloaded_without_formulas(window):
    window.open("hostile?view=agent&agent=1", see="text=No step is finished yet")
    press(window, "Step")
    window.until(lambda: "Shown to the agent" in window.text())
    with window.page.expect_download() as download:
        window.page.get_by_role("button", name="CSV").first.click()
    file = Path(download.value.path())
    assert download.value.suggested_filename == "agent-1-step-1-changes.csv"
    rows = list(csv.DictReader(file.open(encoding="utf-8-sig", newline="")))
    assert {row["text"].removeprefix("Agent 2 to you: ") for row in rows} == {*HOSTILE}
    assert not any(row["text"].startswith("=") for row in rows)


def test_a_memory_of_a_users_own_shows_its_layer_and_its_state(window):
    window.page.set_viewport_size({"width": 1900, "height": 1000})
    window.open("moods?view=agent&agent=1", see="text=No step is finished yet")
    for step in ("1", "2", "3", "4"):
        press(window, "Step")
        window.shows(step=step)
    assert "I feel calm." in window.text(".mm-prompt")
    layer = window.page.locator(".mm-section", has_text="Layer memory").inner_text()
    assert "mood, since step 3" in layer
    assert "calm" in layer.split("mood, since step 3")[1]
    assert "Agent 2 to you: The bridge broke!" in layer


@pytest.mark.parametrize("tab", VIEWS)
def test_step_and_play_change_what_a_view_says(page, twin, tab):
    turn(page, tab)
    for field, value in VIEWS[tab][0].items():
        choose(page, field, value)
    agrees(page, twin, tab)
    first = int(page.step())
    press(page, "Step")
    # The last steps of a play before may come to the page together with this one.
    page.until(lambda: int(page.step()) > first)
    agrees(page, twin, tab)
    press(page, "▶")
    page.sometime(lambda: int(page.step()) >= first + 3)
    press(page, "❚❚")
    agrees(page, twin, tab)


@pytest.mark.parametrize(
    ("place", "told", "shown"),
    [
        ("none", "2 of 2 agents cannot be shown; they have: 2 no memory", False),
        ("mixed", "5 of 6 agents cannot be shown; they have: 2 mesa_llm's", True),
    ],
)
def test_agents_with_other_memories_break_no_page(window, place, told, shown):
    window.open(place, see=".mm-note")
    assert told in window.text()
    press(window, "Step")
    window.until(lambda: "Model step: 1" in window.text())
    if shown:
        window.shows(step=1)
    else:
        assert "This model is not recorded" in window.text()
        assert not window.page.query_selector(".mm-section")
    assert "error" not in window.text().lower()
