"""A run that is killed again and again, and gone on with each time."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


def test_a_run_killed_at_random_moments_ends_as_one_that_was_not():
    small = ["--kills", "4", "--most", "2", "--kinds", "0,5", "--json", "--seed", "4"]
    command = [sys.executable, "-m", "benchmarks.kills", *small]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    rows = json.loads(done.stdout.splitlines()[0])
    assert [row["kind"] for row in rows] == ["file, 5 ms", "PostgreSQL, 5 ms"]
    assert sum(row["kills"] for row in rows) >= 3
    for row in rows:
        assert row["asked_steps_missing"] == 0
        assert row["recorded_and_paid_again"] == 0
        assert row["unlike_runs"] == 0
