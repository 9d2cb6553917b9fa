"""What most tests of studies begin with: a place for the store, and a provider."""

import pytest

from tests.support.openai_server import OpenAIServer


@pytest.fixture
def file(tmp_path):
    return tmp_path / "study.sqlite"


@pytest.fixture
def server():
    with OpenAIServer() as server:
        yield server
