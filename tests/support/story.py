"""An agent that is told two things in each step, and a server for its memory."""

import pytest

from tests.support.client import warm_up
from tests.support.fleet import HASTY, Town
from tests.support.openai_server import OpenAIServer


@pytest.fixture(scope="module")
def shared():
    warm_up()
    with OpenAIServer() as server:
        yield server


@pytest.fixture
def server(shared):
    shared.behave = None
    shared.clear()
    return shared


def town_of(memory, server, **given):
    """One agent that is told two things in each step."""
    town = Town(memory, 1, server and server.base, **HASTY | given)
    (agent,) = town.citizens

    def happen(_):
        town.tell(agent, f"word {town.steps}a from Bob", sender=2)
        town.tell(agent, f"word {town.steps}b from Bob", sender=2)

    town.script = happen
    return town


def live(town, steps):
    """Some steps, to the end of all work."""
    for _ in range(steps):
        town.advance()
        town.services.flush()
