"""What several tests of the page share: a browser, and a recorded town."""

import pytest

from tests.support.browser import browser
from tests.support.playing import play
from tests.support.recorded_town import RecordedTown


@pytest.fixture(scope="module")
def chromium():
    """A browser."""
    with browser() as started:
        yield started


@pytest.fixture(scope="session")
def town_file(tmp_path_factory):
    """The file of a run: seven agents with memories of every kind, eight steps."""
    place = str(tmp_path_factory.mktemp("town") / "run.sqlite")
    play(RecordedTown(place, n=7), 8)
    return place
