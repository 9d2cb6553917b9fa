"""The dashboard of running models, in a browser."""

import csv
from pathlib import Path

import pytest

from tests.support.browser import Window, browser, served
from tests.support.pages import HOSTILE

STARTING = "Solara server is starting at"


@pytest.fixture(scope="module")
def address():
    page = str(Path(__file__).with_name("support") / "pages.py")
    options = ("--port", "0", "--no-open", "--production", "--no-check-version")
    with served(
        *("-m", "solara", "run", page, "--host", "127.0.0.1", *options),
        announces=STARTING,
    ) as base:
        yield base


@pytest.fixture(scope="module")
def chromium():
    with browser() as started:
        yield started


def press(window, name):
    window.page.get_by_role("button", name=name, exact=True).click()


def test_step_and_play_update_the_views_in_mesas_own_page(chromium, address):
    with Window(chromium, address) as window:
        window.open(see="text=No step is finished yet")
        press(window, "Step")
        window.until(lambda: window.step() == "1")
        window.until(lambda: "Layers over time" in window.text())
        press(window, "▶")
        window.until(lambda: int(window.step()) >= 4)
        press(window, "❚❚")
        window.page.get_by_label("Step back").click()
        window.until(lambda: "newest" not in window.text(".mm-timeline"))
        before = window.step()
        press(window, "Step")
        window.page.wait_for_timeout(500)
        assert window.step() == before


def test_reset_begins_a_new_run(chromium, address):
    with Window(chromium, address) as window:
        window.open("ours", see="text=No step is finished yet")
        press(window, "Step")
        window.until(lambda: window.step() == "1")
        press(window, "Step")
        window.until(lambda: window.step() == "2")
        press(window, "Reset")
        window.until(lambda: "No step is finished yet" in window.text())
        press(window, "Step")
        window.until(lambda: window.step() == "1")


def test_what_agents_say_stays_inert(chromium, address):
    with Window(chromium, address) as window:
        window.open("hostile?view=agent&agent=1", see="text=No step is finished yet")
        assert "1 of 4 agents cannot be shown; they have: 1 no memory" in window.text()
        press(window, "Step")
        window.until(lambda: "Shown to the agent" in window.text())
        for text in HOSTILE:
            assert text in window.text(".mm-columns .mm-table"), text
            assert text in window.text(".mm-prompt"), text
        assert not window.page.query_selector(".mm-page script, .mm-page img")
        assert not window.page.query_selector(
            "[href^=javascript], .mm-page svg[onload]"
        )


def test_a_table_is_downloaded_without_formulas(chromium, address):
    with Window(chromium, address) as window:
        window.open("hostile?view=agent&agent=1", see="text=No step is finished yet")
        press(window, "Step")
        window.until(lambda: "Shown to the agent" in window.text())
        with window.page.expect_download() as download:
            window.page.get_by_role("button", name="CSV").first.click()
        file = Path(download.value.path())
        assert download.value.suggested_filename == "agent-1-step-1-changes.csv"
        rows = list(csv.DictReader(file.open(encoding="utf-8-sig", newline="")))
        assert {row["text"].removeprefix("Agent 2 says: ") for row in rows} == {
            *HOSTILE
        }
        assert not any(row["text"].startswith("=") for row in rows)


def test_a_chart_is_downloaded_as_png_and_svg(chromium, address):
    with Window(chromium, address, color_scheme="dark") as window:
        window.open("ours", see="text=No step is finished yet")
        press(window, "Step")
        window.until(lambda: "Layers over time" in window.text())
        window.page.wait_for_selector(".mm-chart canvas")
        chart = window.page.locator(".mm-chart")
        for kind, begins in (("PNG", b"\x89PNG"), ("SVG", b"<svg")):
            with window.page.expect_download() as download:
                chart.get_by_role("button", name=kind).click()
            assert Path(download.value.path()).read_bytes().startswith(begins)
