"""A run in PostgreSQL is the run in a file."""

import pytest

from mesa_memory import Services, open_run, resume
from tests.support.postgres import postgres  # noqa: F401 - a fixture
from tests.support.recorded_town import RecordedTown


@pytest.fixture
def address(request):
    """An empty database of the session's server."""
    return request.getfixturevalue("postgres").database()


def lived(place, steps, town=None):
    """A recorded life."""
    town = town or RecordedTown(place, record=place)
    for _ in range(steps):
        town.step()
    Services.of(town).recorder.close()


def test_both_databases_hold_the_same_run_also_if_resumed(address, tmp_path):
    file = str(tmp_path / "run.sqlite")
    lived(file, 9)
    lived(address, 5)
    town = resume(RecordedTown, address, file=address, record=address)
    assert town.steps == 5
    lived(address, 4, town)
    with open_run(file) as one, open_run(address) as other:
        assert one.differences(other) is None
        assert list(one.steps) == list(other.steps)


def test_a_run_is_replayed_from_postgresql(address):
    lived(address, 5)
    town = RecordedTown(address, llm=None, record=None, replay=address)
    for _ in range(5):
        town.step()
    with open_run(address) as run:
        agent = town.citizens[2]
        assert run.prompt(agent.unique_id, 5) == agent.memory.get_prompt_ready()
