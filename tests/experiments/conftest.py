"""What most tests of studies begin with: a place for the store."""

import pytest


@pytest.fixture
def file(tmp_path):
    return tmp_path / "study.sqlite"
