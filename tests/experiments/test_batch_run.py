"""``batch_run`` takes what Mesa's takes, and gives the rows that Mesa's gives."""

import mesa
import pytest

from mesa_memory import batch_run
from mesa_memory.errors import StudyError
from tests.support.studied import Street

GIVEN = {"n": [1, 3], "memory": "short_term"}


def both(*args, **given):
    given |= {"display_progress": False}
    return batch_run(*args, **given), mesa.batch_run(*args, **given)


@pytest.mark.parametrize("period", [-1, 1, 2])
def test_the_rows_are_those_of_mesa(period):
    ours, mesas = both(
        Street, GIVEN, max_steps=3, rng=[4, 5], data_collection_period=period
    )
    assert ours == mesas
    assert [list(row) for row in ours] == [list(row) for row in mesas]


def test_runs_without_a_seed_are_as_many_as_iterations():
    with pytest.warns(DeprecationWarning):
        ours, mesas = both(Street, GIVEN, iterations=2, max_steps=1)
    keys = ("RunId", "iteration", "Step", "n", "memory", "rng", "AgentID")
    assert [[row[k] for k in keys] for row in ours] == [
        [row[k] for k in keys] for row in mesas
    ]


def test_a_seed_given_twice_is_run_twice():
    ours, mesas = both(Street, GIVEN, max_steps=2, rng=[4, 4])
    assert ours == mesas


def test_a_batch_in_a_store_is_not_run_again(tmp_path):
    given = {"max_steps": 2, "rng": [1, 2], "display_progress": False}
    first = batch_run(Street, GIVEN, store=tmp_path / "batch.sqlite", **given)
    again = batch_run(Street, GIVEN, store=tmp_path / "batch.sqlite", **given)
    assert first == again == mesa.batch_run(Street, GIVEN, **given)


def test_a_batch_says_what_has_failed():
    with pytest.raises(StudyError, match=r"1 failed of 2[\s\S]*a bad day"):
        both(Street, {"bad": 4}, max_steps=3, rng=[4, 5])


def test_seeds_and_iterations_do_not_go_together():
    with pytest.raises(ValueError, match="you cannot use both iterations and rng"):
        batch_run(Street, GIVEN, iterations=2, rng=[1])
