"""A run has one writer, whoever asks."""

import gc
import logging
import subprocess
import sys
import threading
import time
import weakref

import pytest

from mesa_memory import Services, checkpoint, open_run, resume
from mesa_memory.errors import RunInUse, StoreError
from mesa_memory.stores import sql
from mesa_memory.stores.base import Options
from tests.support.playing import ended, lived
from tests.support.street import Street, remembered
from tests.support.waiting import until


@pytest.fixture(params=["file", "postgresql"])
def place(request, tmp_path):
    """Where a run is written."""
    if request.param == "file":
        return str(tmp_path / "run.sqlite")
    return request.getfixturevalue("postgres").database()


def played(place, steps):
    """A street that is still being recorded."""
    return lived(Street(place), steps)


def test_a_run_that_a_living_model_writes_is_not_gone_on_with(place):
    street = played(place, 6)
    with pytest.raises(RunInUse, match=r"has written it since 20.*close"):
        resume(Street, place, step=5)
    street.step()
    ended(street)
    with open_run(place) as run:
        assert list(run.steps) == list(range(1, 8))
    again = resume(Street, place)
    with pytest.raises(RunInUse):
        resume(Street, place)
    again.step()
    ended(again)
    assert resume(Street, place).steps == 8


def test_a_model_that_nobody_has_any_more_writes_no_run(place):
    street = played(place, 2)
    Services.of(street).recorder.sync()
    del street
    assert resume(Street, place).steps == 2


def test_a_model_may_be_collected_in_the_thread_that_writes_its_run(place, monkeypatch):
    street = played(place, 2)
    recorder, gone = Services.of(street).recorder, threading.Event()
    recorder.sync()
    write = recorder.store.write

    def collecting(*given):
        gone.wait(30)
        gc.collect()
        return write(*given)

    monkeypatch.setattr(recorder.store, "write", collecting)
    street.step()
    model, recorder = weakref.ref(street), None
    gc.disable()  # only the writer's thread is to find the model
    try:
        del street
        gone.set()
        until(lambda: model() is None)
    finally:
        gc.enable()
    until(lambda: not is_running(place))
    with open_run(place) as run:
        assert list(run.steps) == [1, 2, 3]
    resume(Street, place).step()


def test_a_model_may_be_collected_inside_the_transaction_of_another_run(
    place, monkeypatch
):
    street, other = played(place, 2), played(place, 2)
    Services.of(street).recorder.sync()
    model, write = weakref.ref(street), sql.write_batches

    def collecting(*given):
        gc.collect()
        return write(*given)

    Services.of(other).recorder.sync()
    gc.disable()  # only the other run's writer is to find the model
    try:
        monkeypatch.setattr(sql, "write_batches", collecting)
        del street
        other.step()
        began = time.monotonic()
        Services.of(other).recorder.sync()
        assert model() is None
        assert time.monotonic() - began < Options().timeout / 2
    finally:
        gc.enable()
    ended(other)
    until(lambda: not is_running(place, 1))
    resume(Street, place, run=1).step()


def is_running(place, run=None):
    with open_run(place, run) as run:
        return run.status == "running"


class Moody(Street):
    """Cannot always be made."""

    def __init__(self, mood="good", **given):
        super().__init__(**given)
        self.agents[0].memory.add_to_memory("message", {"message": mood, "sender": 2})
        if mood == "bad":
            raise ZeroDivisionError("not today")


def rows(place):
    """All that is recorded of the run."""
    with open_run(place) as run:
        return run.history(agent=1, as_records=True), list(run.steps)


def test_a_run_that_cannot_be_gone_on_with_stays_as_it_is(place, caplog):
    street = played(place, 5)
    checkpoint(street)
    ended(lived(street, 4))
    before = rows(place)
    with pytest.raises(TypeError, match="taxx"):
        resume(Street, place, 5, taxx=3)
    with pytest.raises(ZeroDivisionError):
        resume(Moody, place, 5, mood="bad")
    with pytest.raises(
        StoreError, match="lacks a finished step 12; its steps are 1 to 9"
    ):
        resume(Moody, place, 12)
    assert rows(place) == before
    assert not caplog.records
    with caplog.at_level(logging.WARNING):
        ended(resume(Street, place))
    assert rows(place) == before
    assert not caplog.records


def test_what_is_removed_from_a_run_is_said(tmp_path, caplog):
    file = str(tmp_path / "run.sqlite")
    street = played(file, 3)
    checkpoint(street)
    before = remembered(street)
    ended(lived(street, 5))
    again = resume(Moody, file, step=3, mood="good")
    (said,) = [r.getMessage() for r in caplog.records if "removed" in r.getMessage()]
    assert "steps 4 to 8 of run 1 are removed; the run continues after step 3" in said
    assert remembered(again) == before


def test_a_file_that_is_opened_again_keeps_the_locks_of_its_writer(tmp_path):
    """Else another program takes itself for the last one, and clears up too much."""
    file = tmp_path / "run.sqlite"
    street = played(str(file), 3)
    checkpoint(street)
    open_run(file).close()
    look = "import sqlite3, sys; on = sqlite3.connect(sys.argv[1]); "
    look += "print(on.execute('SELECT count(*) FROM runs').fetchone()); on.close()"
    command = [sys.executable, "-c", look, str(file)]
    subprocess.run(command, check=True, capture_output=True)
    assert file.with_name("run.sqlite-wal").exists()
    ended(street)
