"""Asking an agent and forking a run from a page, in the browser."""

import pytest

from tests.support.browser import Window
from tests.support.dashboards import live_pages
from tests.support.hostile import ATTACK
from tests.support.live_views import press

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def window(chromium):
    with live_pages() as base, Window(chromium, base) as opened:
        opened.open("minds?view=hand&agent=2", see=".mm-empty")
        press(opened, "Step")
        opened.shows(step=1)
        yield opened


def test_an_agent_is_asked_and_its_answer_stays_on_the_page(window):
    field = window.page.get_by_label("Question")
    field.fill(f"What do you know? {ATTACK}")
    press(window, "Ask")
    window.until(lambda: "What do you know?" in window.text(".mm-table"))
    assert ATTACK in window.text(".mm-table")
    assert not window.page.query_selector("img[src=x]")
    with window.page.expect_download() as given:
        window.page.get_by_role("button", name="CSV").first.click()
    assert given.value.suggested_filename == "answers.csv"


def test_a_fork_with_an_implant_says_what_differs_and_leaves_the_run_alone(window):
    window.page.get_by_label("Words it will remember").fill(ATTACK)
    press(window, "Fork")
    form = window.page.locator(".mm-section", has_text="Fork with a change")
    window.until(lambda: "The fork is in memory only" in form.inner_text())
    assert window.text(".mm-of") == "of 1"
    assert not window.page.query_selector("img[src=x]")
    assert "This run was not changed by hand." in window.text()


def test_a_fork_is_a_run_of_the_page_that_is_shown_and_played_on(window):
    runs = window.page.get_by_label("Run", exact=True)
    window.until(lambda: runs.count() == 1)
    names = runs.locator("option").all_inner_texts()
    assert len(names) == 2
    assert "fork of run 1 after step 1" in names[1]
    before = runs.input_value()
    press(window, "Show the fork")
    window.until(lambda: "fork of run 1" in runs.locator("option:checked").inner_text())
    # The controls follow what is shown.
    press(window, "Step")
    window.until(lambda: window.text(".mm-of") == "of 2")
    window.until(lambda: ATTACK in window.text(".mm-table"))
    runs.select_option(before)
    window.until(lambda: window.text(".mm-of") == "of 1")


def test_a_fork_begins_at_the_step_that_is_shown(window):
    for step in (2, 3):
        press(window, "Step")
        window.until(lambda step=step: window.text(".mm-of") == f"of {step}")
    window.page.get_by_role("slider", name="Step", exact=True).focus()
    window.page.keyboard.press("ArrowLeft")
    window.shows(step=2)
    assert "from step 2, which is shown" in window.text()
    window.page.get_by_label("Words it will remember").fill("The mill burns!")
    press(window, "Fork")
    runs = window.page.get_by_label("Run", exact=True)
    window.until(lambda: runs.locator("option").count() == 3)
    assert "fork of run 1 after step 2" in runs.locator("option").all_inner_texts()[2]
