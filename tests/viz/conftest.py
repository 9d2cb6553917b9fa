"""What several tests of the page share: a browser, and a recorded town."""

import pytest

from mesa_memory import open_run
from tests.support.browser import Window, browser
from tests.support.dashboards import dashboard
from tests.support.hostile import hostile_run
from tests.support.playing import play
from tests.support.recorded_town import RecordedTown


@pytest.fixture(scope="module")
def chromium():
    """A browser."""
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def address(file):
    """A server with the file of a module."""
    with dashboard(file) as base:
        yield base


@pytest.fixture
def window(chromium, address):
    """A window of a module's server."""
    with Window(chromium, address) as opened:
        yield opened


@pytest.fixture(scope="module")
def file(town_file):
    """The file of a module that makes none of its own."""
    return town_file


@pytest.fixture(scope="module")
def run(file):
    """What is in the file of a module."""
    with open_run(file) as opened:
        yield opened


@pytest.fixture(scope="session")
def town_file(tmp_path_factory):
    """The file of a run: seven agents with memories of every kind, eight steps."""
    place = str(tmp_path_factory.mktemp("town") / "run.sqlite")
    play(RecordedTown(place, n=7), 8)
    return place


@pytest.fixture(scope="session")
def hostile(tmp_path_factory):
    """A file in which every text, and the name of everything, is an attack."""
    return hostile_run(tmp_path_factory.mktemp("hostile") / "run.sqlite")
