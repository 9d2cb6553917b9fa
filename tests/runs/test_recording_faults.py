"""What a run does when its store fails."""

import logging
import sqlite3

import pytest

from mesa_memory import Recording, Services, StoreError, resume
from mesa_memory.errors import StoreUnavailable
from tests.support.playing import lived, play
from tests.support.recorded_town import RecordedTown
from tests.support.tables import assert_equal, tables
from tests.support.waiting import until


def lost(file):
    """A file that is no longer there; its last state, kept elsewhere."""
    with sqlite3.connect(file) as on:
        on.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return file.replace(file.with_name("kept.sqlite"))


def run_until_it_stops(town, steps=10):
    """Steps until an error; it, and the steps that ended well."""
    for _ in range(steps):
        try:
            town.step()
            Services.of(town).recorder.sync()
        except StoreError as error:
            return error
    return None


def test_a_run_goes_on_unrecorded_only_if_the_user_chose_that(tmp_path, caplog):
    file = tmp_path / "run.sqlite"
    given = Recording(str(file), on_failure="continue")
    town = lived(RecordedTown(str(file), record=given), 4)
    Services.of(town).recorder.sync()
    lost(file)
    recorder = Services.of(town).recorder
    with caplog.at_level(logging.WARNING):
        until(lambda: (town.step(), not recorder.active)[1])
        until_then = town.steps
        lived(town, 6)
    assert town.steps == until_then + 6 > 10
    assert not recorder.active
    said = [r.getMessage() for r in caplog.records if "unrecorded" in r.getMessage()]
    assert len(said) == 1


def test_a_run_whose_store_is_gone_stops_and_is_gone_on_with_when_it_is_back(tmp_path):
    play(RecordedTown(str(tmp_path / "whole.sqlite")), 8)
    file = tmp_path / "run.sqlite"
    town = RecordedTown(str(file))
    assert run_until_it_stops(town, 4) is None
    kept = lost(file)
    recorder = Services.of(town).recorder
    with pytest.raises(StoreUnavailable, match=r"run\.sqlite"):
        town.step()
        recorder.await_writer()  # hands over no more, so the error comes here
    assert [row["step"] for row in tables(kept)["steps"]] == [1, 2, 3, 4]
    play(resume(RecordedTown, kept, file=str(kept)), 4)
    assert_equal(tables(tmp_path / "whole.sqlite"), tables(kept))
    with pytest.raises(StoreUnavailable):  # what was not written is given up
        recorder.abandon()
