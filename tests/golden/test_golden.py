"""Runs that were written down once are lived through again, the same row by row."""

import pytest

from tests.golden.recorded import RUNS, golden, record


@pytest.mark.parametrize("name", RUNS)
def test_a_run_is_the_same_as_when_it_was_written_down(name):
    now, before = record(name), golden(name)
    different = [pair for pair in zip(now, before) if pair[0] != pair[1]]
    assert not different, f"{len(different)} rows differ, the first:\n" + "\n".join(
        different[0]
    )
    assert len(now) == len(before)
