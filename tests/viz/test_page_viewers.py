"""A page that nobody looks at: its model rests, and its session ends."""

import json
import os
import signal
import time

import pytest

from mesa_memory import open_run
from tests.support.browser import at, launch, opener
from tests.support.dashboards import command
from tests.support.waiting import HUNG, until

pytestmark = pytest.mark.slow

#: lets a test cut the connection of a page, and give it back
CUT = """
window.cut = false; window.sockets = [];
const Real = window.WebSocket;
window.WebSocket = class extends Real {
  constructor(address, protocols) {
    super(window.cut ? 'ws://127.0.0.1:9/' : address, protocols);
    window.sockets.push(this);
  }
};
"""
#: seconds in which a model that plays makes some steps on a fast machine
A_WHILE = 2


def played(file):
    """A demo whose run is written into a file."""
    town = ("--agents", "4", "--steps", "1", "--record", file)
    return command("demo", *town)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return str(tmp_path_factory.mktemp("viewers") / "run.sqlite")


@pytest.fixture(scope="module")
def demo(file):
    """A demo that waits for a page that is away for as long as a test may take."""
    with pytest.MonkeyPatch.context() as given:
        given.setenv("SOLARA_KERNEL_CULL_TIMEOUT", "1h")
        with played(file) as base:
            yield base


def steps(file):
    """How many steps of the run are written; a page must not be asked for this."""
    with open_run(file) as run:
        return len(run.steps)


def kernels(base):
    with opener().open(at(base, "resourcez"), timeout=600) as told:
        return json.load(told)["kernels"]["total"]


def playing(chromium, base, file):
    """A page whose model plays, and seconds in which it makes some steps here."""
    page = chromium.new_context().new_page()
    page.add_init_script(CUT)
    page.goto(base)
    page.wait_for_selector(".mm-section", timeout=1000 * HUNG)
    before, began = steps(file), time.monotonic()
    page.get_by_role("button", name="▶", exact=True).click()
    until(lambda: steps(file) > before + 1, "it does not play")
    return page, max(A_WHILE, 2 * (time.monotonic() - began))


def leave(page, base):
    """Goes elsewhere, with which its session ends."""
    sessions = kernels(base)
    page.goto("about:blank")
    until(lambda: kernels(base) == sessions - 1, "the session stays")


def rests(file, a_while):
    """Waits for the step that is under way, and until no other one comes for a while."""

    def still():
        before = steps(file)
        time.sleep(a_while)
        return steps(file) == before

    until(still, "it plays on")
    return steps(file)


def test_a_model_rests_while_the_page_is_away_and_goes_on_when_it_is_back(
    chromium, demo, file
):
    page, a_while = playing(chromium, demo, file)
    page.evaluate("window.cut = true; window.sockets.forEach(one => one.close())")
    before = rests(file, a_while)
    assert kernels(demo) == 1
    page.evaluate("window.cut = false")
    until(lambda: steps(file) > before + 1, "it does not go on")
    leave(page, demo)


def test_one_window_plays_on_when_another_one_is_closed(chromium, demo, file):
    page, _ = playing(chromium, demo, file)
    other = chromium.new_context().new_page()
    other.goto(demo)
    other.wait_for_selector(".mm-section", timeout=1000 * HUNG)
    leave(other, demo)
    before = steps(file)
    until(lambda: steps(file) > before + 1, "it does not play on")
    leave(page, demo)


def test_a_model_rests_when_the_browser_is_gone_and_the_session_ends(
    chromium, tmp_path, monkeypatch
):
    monkeypatch.setenv("SOLARA_KERNEL_CULL_TIMEOUT", "3s")  # it is a minute
    file = str(tmp_path / "run.sqlite")
    doomed = launch(chromium.browser_type)
    with played(file) as base:
        _, a_while = playing(doomed, base, file)
        cdp = doomed.new_browser_cdp_session()
        found = cdp.send("SystemInfo.getProcessInfo")["processInfo"]
        main = next(one["id"] for one in found if one["type"] == "browser")
        os.kill(main, signal.SIGKILL)
        rests(file, a_while)
        until(lambda: kernels(base) == 0, "the session stays")
