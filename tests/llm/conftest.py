"""A provider for the tests of this folder."""

import pytest

from tests.support.openai_server import OpenAIServer


@pytest.fixture
def server():
    with OpenAIServer() as server:
        yield server
