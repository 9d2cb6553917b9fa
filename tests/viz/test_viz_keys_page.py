"""The slider, its keys, the theme button and the heat map's picture, in a live page."""

import pytest

from tests.support.browser import Window
from tests.support.dashboards import live_pages
from tests.support.live_views import press

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page(chromium):
    """A town of six that has played three days."""
    with live_pages() as base, Window(chromium, base) as window:
        window.open("ours?view=population", see=".mm-empty")
        for day in ("1", "2", "3"):
            press(window, "Step")
            window.shows(step=day)
        yield window


def following(window):
    return "newest" in window.text(".mm-step")


def leave(window):
    """Goes back in time, so that the page does not follow any more."""
    window.page.get_by_label("Step back").click()
    window.until(lambda: not following(window))


def days(window):
    return int(window.text(".mm-of").removeprefix("of "))


@pytest.mark.parametrize("key", ["ArrowRight", "End"])
def test_the_right_arrow_and_end_follow_a_run_that_goes_on(page, key):
    leave(page)
    page.page.get_by_label("Step", exact=True).focus()
    page.page.keyboard.press(key)
    page.until(lambda: following(page))
    last = days(page)
    press(page, "Step")
    page.until(lambda: days(page) == last + 1)
    page.until(lambda: page.step() == str(last + 1))


def test_the_slider_says_at_which_step_it_is(page):
    slider = page.page.get_by_role("slider", name="Step", exact=True)
    slider.focus()
    page.page.keyboard.press("Home")
    page.until(lambda: page.step() == "1")
    page.page.keyboard.press("ArrowRight")
    page.until(lambda: page.step() == "2")
    # What is not written down as an attribute, a browser tells of its own slider.
    now = slider.evaluate("one => one.ariaValueNow || one.value")
    ends = slider.evaluate("one => [one.min, one.max]")
    assert (now, ends) == ("2", ["1", str(days(page))])
    assert slider.get_attribute("aria-valuetext") == f"step 2 of {days(page)}"
