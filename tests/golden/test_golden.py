"""Runs that were written down once are lived through again, the same row by row."""

import json
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.golden.recorded import RUNS, golden, record

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
#: what decides the last digit of a score
NUMERICS = ("numpy", "model2vec")
#: scores are written with six digits after the point
LAST_DIGIT = 2e-6


def as_written_down():
    """True if scores are worked out with the versions that they were written down with."""
    tested = tomllib.loads(PROJECT.read_text())["tool"]["uv"]["constraint-dependencies"]
    return all(f"{name}=={version(name)}" in tested for name in NUMERICS)


def alike(now, before):
    """True for the same data, but for the last digit of numbers."""
    if isinstance(now, float) and isinstance(before, float):
        return abs(now - before) <= LAST_DIGIT
    if isinstance(now, list) and isinstance(before, list):
        return len(now) == len(before) and all(map(alike, now, before))
    if isinstance(now, dict) and isinstance(before, dict):
        return [*now] == [*before] and all(alike(now[key], before[key]) for key in now)
    return now == before


def differ(now, before):
    if now == before:
        return False
    return as_written_down() or not alike(json.loads(now), json.loads(before))


@pytest.mark.parametrize("name", RUNS)
def test_a_run_is_the_same_as_when_it_was_written_down(name):
    now, before = record(name), golden(name)
    different = [pair for pair in zip(now, before) if differ(*pair)]
    assert not different, f"{len(different)} rows differ, the first:\n" + "\n".join(
        different[0]
    )
    assert len(now) == len(before)
