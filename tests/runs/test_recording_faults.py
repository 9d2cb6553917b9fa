"""What a run does when its store fails."""

import logging
import os
import sqlite3

import pytest

from mesa_memory import Recording, Services, StoreError, resume
from mesa_memory.errors import StoreUnavailable
from tests.support.recorded_town import RecordedTown
from tests.support.tables import assert_equal, tables
from tests.support.waiting import until


def lost(file):
    """A file that is no longer there; its last state, kept elsewhere."""
    kept = file.with_name("kept.sqlite")
    checkpoint_log(file)
    os.replace(file, kept)
    return kept


def checkpoint_log(file):
    """Brings everything from the write-ahead log into the file."""
    with sqlite3.connect(file) as on:
        on.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def run_until_it_stops(town, steps=10):
    """Steps until an error; it, and the steps that ended well."""
    for _ in range(steps):
        try:
            town.step()
            Services.of(town).recorder.sync()
        except StoreError as error:
            return error
    return None


def test_a_run_whose_store_is_gone_stops_at_the_end_of_a_step(tmp_path):
    file = tmp_path / "run.sqlite"
    town = RecordedTown(str(file))
    assert run_until_it_stops(town, 4) is None
    kept = lost(file)
    error = run_until_it_stops(town)
    assert isinstance(error, StoreUnavailable)
    assert "run.sqlite" in str(error)
    assert [row["step"] for row in tables(kept)["steps"]] == [1, 2, 3, 4]


def test_a_run_goes_on_unrecorded_only_if_the_user_chose_that(tmp_path, caplog):
    file = tmp_path / "run.sqlite"
    given = Recording(str(file), on_failure="continue")
    town = RecordedTown(str(file), record=given)
    for _ in range(4):
        town.step()
    Services.of(town).recorder.sync()
    lost(file)
    recorder = Services.of(town).recorder
    with caplog.at_level(logging.WARNING):
        until(lambda: (town.step(), not recorder.active)[1])
        until_then = town.steps
        for _ in range(6):
            town.step()
    assert town.steps == until_then + 6 > 10
    assert not recorder.active
    said = [r.getMessage() for r in caplog.records if "unrecorded" in r.getMessage()]
    assert len(said) == 1


def test_a_stopped_run_is_gone_on_with_when_the_store_is_back(tmp_path):
    whole = RecordedTown(str(tmp_path / "whole.sqlite"))
    for _ in range(8):
        whole.step()
    Services.of(whole).recorder.close()
    file = tmp_path / "run.sqlite"
    town = RecordedTown(str(file))
    assert run_until_it_stops(town, 4) is None
    kept = lost(file)
    assert run_until_it_stops(town)
    again = resume(RecordedTown, kept, file=str(kept))
    for _ in range(4):
        again.step()
    Services.of(again).recorder.close()
    assert_equal(tables(tmp_path / "whole.sqlite"), tables(kept))


def test_two_runs_are_written_into_one_file_at_once(tmp_path):
    file = tmp_path / "run.sqlite"
    towns = [RecordedTown(str(file)) for _ in range(2)]
    for _ in range(6):
        for town in towns:
            town.step()
    for town in towns:
        Services.of(town).recorder.close()
    assert_equal(tables(file, 1), tables(file, 2))
    assert len(tables(file, 1)["steps"]) == 6


def test_a_store_that_cannot_be_written_is_refused_before_the_run(tmp_path):
    folder = tmp_path / "run.sqlite"
    folder.mkdir()
    with pytest.raises(StoreError, match=r"run\.sqlite"):
        RecordedTown(str(folder))
    with pytest.raises(StoreError):
        RecordedTown(str(tmp_path / "nowhere" / "run.sqlite"))


def test_keys_never_reach_the_file(tmp_path, monkeypatch):
    secret = "sk-very-secret-4711"
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    file = tmp_path / "run.sqlite"
    town = RecordedTown(str(file))
    for _ in range(5):
        town.step()
    Services.of(town).recorder.close()
    for part in tmp_path.iterdir():
        assert secret.encode() not in part.read_bytes()
