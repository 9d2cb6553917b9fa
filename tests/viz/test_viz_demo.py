"""``mesa-memory demo`` in the browser."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading

import pytest
from click.testing import CliRunner

from mesa_memory.cli import main
from mesa_memory.runs import open_run
from tests.support.browser import ROOT, Window
from tests.support.dashboards import command
from tests.support.live_views import press

pytestmark = pytest.mark.slow

DAYS = 12
#: true once something is drawn in a chart
DRAWN = """() => [...document.querySelectorAll("[aria-label^='Curves of'] canvas")].some(
  canvas => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height)
    .data.some(value => value))"""


class Demo:
    """The command in a process of its own, and what it says."""

    def __init__(self, *arguments):
        command = [sys.executable, "-m", "mesa_memory.cli", "demo", *arguments]
        self.said, self.address = [], None
        self._ready = threading.Event()
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        for line in self.process.stdout:
            self.said.append(line)
            if line.startswith("Open http"):
                self.address = line.split()[1]
                self._ready.set()
        self._ready.set()

    def ready(self):
        assert self._ready.wait(600)
        assert self.address, "".join(self.said)
        return self.address


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return str(tmp_path_factory.mktemp("demo") / "run.sqlite")


@pytest.fixture(scope="module")
def demo(file):
    town = ("--agents", "8", "--steps", str(DAYS), "--memory", "episodic")
    started = Demo(*town, "--record", file, "--port", "0", "--no-open")
    yield started
    started.process.kill()
    started.process.wait()


def pictures(window):
    """The town and its two curves."""
    images = window.page.locator(".mm-model img").all()
    return [image.get_attribute("src") for image in images]


def test_the_page_shows_the_days_that_were_played_and_goes_on(chromium, demo):
    with Window(chromium, demo.ready()) as window:
        window.open()
        assert demo.address.startswith("http://127.0.0.1:")
        window.until(lambda: f"of {DAYS}" in window.text(".mm-step"))
        press(window, "Step")
        window.shows(step=DAYS + 1)
        window.page.get_by_role("tab", name="Model").click()
        window.until(lambda: len(pictures(window)) == 3)
        before = pictures(window)
        press(window, "Step")  # nobody changes their mind on this day
        window.until(lambda: len(set(pictures(window)) - set(before)) == 2)
        press(window, "Step")
        window.until(lambda: len(set(pictures(window)) - set(before)) == 3)


def test_two_windows_show_one_town_and_choose_for_themselves(chromium, demo):
    with Window(chromium, demo.ready()) as one, Window(chromium, demo.ready()) as two:
        one.open("?view=agent&agent=2&step=5", see="text=Agent 2, step 5")
        two.open("?view=agent&agent=3", see="text=Agent 3, step")
        days = int(two.step())
        press(one, "Step")
        two.shows(step=days + 1)
        assert f"Agent 3, step {days + 1}" in two.text()
        one.page.get_by_label("Step forward").click()
        one.until(lambda: "Agent 2, step 6" in one.text())
        assert two.query() == "view=agent&agent=3"
        # What is sent to somebody else, or loaded again, is the same.
        two.page.goto(one.page.url)
        two.until(lambda: "Agent 2, step 6" in two.text())


def test_reset_keeps_the_old_run_plays_as_many_days_and_both_are_compared(chromium):
    town = ("--agents", "6", "--steps", "4")
    with command("demo", *town) as address, Window(chromium, address) as window:
        window.open()
        window.until(lambda: "EpisodicMemory" in window.text(".mm-bar"))
        assert "applies at Reset" not in window.text()
        window.page.get_by_label("Memory", exact=True).select_option("stlt")
        window.until(lambda: "episodic in the run that is shown" in window.text())
        assert "applies at Reset" in window.text()
        press(window, "Reset")
        window.until(lambda: "STLTMemory" in window.text(".mm-bar"))
        window.shows(step=4)
        window.until(lambda: "applies at Reset" not in window.text())
        new = window.page.url
        assert "run=" in window.query()
        window.page.reload()
        window.until(lambda: "STLTMemory" in window.text(".mm-bar"))
        assert window.page.url == new
        press(window, "Step")
        window.shows(step=5)
        window.page.get_by_role("button", name="Compare with the run before").click()
        right = re.compile(r"Right: agent \d+, memory episodic")
        window.until(lambda: right.search(window.text()))
        assert "nan" not in window.text()
        with Window(chromium, address) as other:
            other.open(f"?{new.partition('?')[2]}")
            assert "STLTMemory" in other.text(".mm-bar")
            other.open("?run=gone-1-000000")
            assert "which this page does not have" in other.text()


def test_an_interrupt_ends_it_while_windows_play_and_nothing_is_lost(
    chromium, demo, file
):
    with Window(chromium, demo.ready()) as one, Window(chromium, demo.ready()) as two:
        one.open()
        days = int(one.text(".mm-of").split()[-1])
        two.open()
        press(two, "Reset")  # another town, which only this window plays
        two.until(lambda: "run=" in two.query())
        two.shows(step=days)
        for window, least in ((one, days), (two, days)):
            press(window, "▶")
            window.sometime(lambda window=window, least=least: playing(window, least))
        assert not one.faults + two.faults
        demo.process.send_signal(signal.SIGINT)
        assert demo.process.wait(timeout=600) == 0
        for window in (one, two):
            window.page.goto("about:blank")
            window.faults.clear()  # of a page whose server is gone
    progress = ("Plays ", "Open http", "Loading ")
    assert [line for line in demo.said if not line.startswith(progress)] == []
    for number, least in ((1, days), (2, days)):
        with open_run(file, number) as run:
            assert run.status == "finished"
            assert len(run.steps) > least


def playing(window, least):
    """True if the page is at a later step than this one."""
    shown = window.page.query_selector(".mm-step strong")
    step = shown.inner_text() if shown else ""
    return step.isdigit() and int(step) > least


def test_a_port_that_is_taken_is_said_before_a_day_is_played(monkeypatch):
    from mesa_memory.examples.rumor.model import RumorModel

    monkeypatch.setattr(RumorModel, "step", lambda self: pytest.fail("it played"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        found = CliRunner().invoke(main, ["demo", "--port", port, "--no-open"])
    assert found.exit_code == 2
    assert f"cannot listen at port {port} of 127.0.0.1" in found.output
    assert "Choose another port" in found.output
    assert len(found.output.strip().splitlines()) == 2  # what it does, and why not
