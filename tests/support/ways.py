"""Both ways to a provider, for tests that must hold on either."""

import pytest

from tests.support.client import warm_up

WAYS = ("direct", "litellm")


def take(way, monkeypatch):
    """Lets requests go this way, as if nobody had chosen."""
    warm_up()  # while both ways are open
    if way == "litellm":
        monkeypatch.setattr("mesa_memory.llm.client.obstacle", lambda *_: "a test")


@pytest.fixture(
    autouse=True, params=["direct", pytest.param("litellm", marks=pytest.mark.slow)]
)
def way(request, monkeypatch):
    """Runs every test here once on each way; on the slow one among the slow tests."""
    take(request.param, monkeypatch)
    return request.param
