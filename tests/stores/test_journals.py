"""SQLite without shared memory: the rollback journal is used, and nothing is missing.

SQLite itself fails as it does on network file systems; see ``tests.support.sqlite_faults``.
"""

import logging
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mesa_memory import open_run
from mesa_memory.errors import CacheError, StoreBusy, StoreError, StoreUnavailable
from mesa_memory.llm.cache import CacheFile
from mesa_memory.stores import RunInfo, open_store
from tests.llm.test_cached_vectors import Counting
from tests.llm.test_cached_vectors import town as recalling_town
from tests.support.keeping import live
from tests.support.keeping import town as asking_town
from tests.support.openai_server import OpenAIServer
from tests.support.sqlite_faults import DOTFILE, broken, environment
from tests.support.stored import everything, full

#: others differ from these in the name of the error alone, or take ten seconds
FAULTS = (DOTFILE, "SQLITE_IOERR_SHMMAP", "SQLITE_IOERR_WRITE")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.sqlite"


def written(path, first=1, **given):
    """Two steps of the file's only run, written; all that is in it then."""
    store = open_store(path, **given)
    number = store.begin(RunInfo("Town")) if first == 1 else 1
    for step in (first, first + 1):
        store.write(number, full(step))
    found = everything(store, number)
    store.close()
    return found


def has_log(path):
    """Whether the file's header says that it has a write-ahead log."""
    return path.read_bytes()[18:20] == b"\2\2"


@pytest.mark.parametrize("fault", FAULTS)
def test_a_file_without_shared_memory_is_written_and_one_line_says_how(
    path, fault, caplog
):
    whole = path.with_name("whole.sqlite")
    expected = written(whole), written(whole, 3)
    with broken(fault), caplog.at_level(logging.INFO):
        assert (written(path), written(path, 3)) == expected
        reader = open_store(path, read_only=True)
        assert everything(reader, 1) == expected[1]
        reader.close()
    assert has_log(whole) and not has_log(path)
    (line,) = [r.getMessage() for r in caplog.records]
    assert f"{path} gets a rollback journal" in line
    assert written(path, 5) == written(whole, 5) and not has_log(path)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_file_with_a_log_goes_on_where_shared_memory_is_missing(path, fault, caplog):
    expected = written(path)
    with broken(fault):
        assert len(written(path, 3)["steps"]) == len(expected["steps"]) + 2
    assert not has_log(path) and "gets a rollback journal" in caplog.text


def test_a_file_that_cannot_be_written_with_any_journal_is_told(path):
    with broken("SQLITE_IOERR_WRITE lost"):
        with pytest.raises(StoreUnavailable, match="write to a local disk, one file"):
            open_store(path)
        with pytest.raises(CacheError, match="disk I/O error"):
            CacheFile(path.with_name("cache.sqlite"))


def test_without_shared_memory_on_request_no_file_for_it_is_made(path):
    store = open_store(path, journal="rollback")
    store.write(store.begin(RunInfo("Town")), full(1))
    assert not [p for p in path.parent.iterdir() if p.name.endswith(("-shm", "-wal"))]
    store.close()
    written(path, 2)  # by a program that does not ask for it
    assert not has_log(path)
    other = path.with_name("other.sqlite")
    written(other)
    open_store(other, journal="rollback").close()
    assert not has_log(other)
    with pytest.raises(
        ValueError, match=r"journal must be one of \('auto', 'rollback'\)"
    ):
        open_store(path, journal="wal")


KILLED = """
import os, signal, sys
import sqlalchemy as sa
from mesa_memory.stores import open_store
store = open_store(sys.argv[1])
with store.writing() as on:
    on.execute(sa.text("PRAGMA cache_spill = 1"))
    on.execute(sa.text("PRAGMA cache_size = 1"))
    on.execute(sa.text("UPDATE records SET text = 'half' || text"))
    on.execute(sa.text("UPDATE runs SET name = 'half'"))
    os.kill(os.getpid(), signal.SIGKILL)
"""


def killed_while_writing(path, **given):
    done = subprocess.run([sys.executable, "-c", KILLED, path], **given)
    assert done.returncode == -signal.SIGKILL


def test_a_reader_takes_back_what_a_killed_process_has_not_finished(path):
    expected = written(path, journal="rollback")
    killed_while_writing(path)
    assert Path(f"{path}-journal").stat().st_size
    reader = open_store(path, read_only=True)
    assert everything(reader, 1) == expected
    with pytest.raises(StoreError, match="read_only=True"):
        reader.begin(RunInfo("Town"))
    reader.close()


def test_a_lock_that_a_killed_process_left_is_named(path, tmp_path):
    with broken(DOTFILE):
        written(path)
        killed_while_writing(path, env=environment(DOTFILE, tmp_path / "start"))
        lock = Path(f"{path}.lock")
        with pytest.raises(StoreBusy, match=f"killed, delete the folder {lock}"):
            open_store(path, timeout=0.1)
        lock.rmdir()
        assert len(written(path, 3)["steps"]) == 4


@pytest.mark.parametrize("fault", FAULTS)
def test_caches_of_answers_and_vectors_need_no_shared_memory(tmp_path, fault):
    file, texts = tmp_path / "cache.sqlite", Counting()
    with OpenAIServer() as server, broken(fault):
        first = live(asking_town(server.base, cache=file), 1)
        assert live(asking_town(server.base, cache=file), 1)["cached"] == first["calls"]
        assert server.requests == first["calls"]
        found = recalling_town(texts, file)
        again = Counting()
        assert recalling_town(again, file) == found and not again.asked


def test_a_reader_leaves_no_empty_log_beside_a_finished_run(path):
    expected = written(path)
    before = path.read_bytes()
    with open_run(path) as run:
        assert run.steps == [1, 2]
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    assert path.read_bytes() == before and has_log(path)
    reader = open_store(path, read_only=True)
    assert everything(reader, 1) == expected
    reader.close()


def test_a_reader_that_closes_leaves_the_log_to_those_who_have_it(path):
    written(path)
    writer = open_store(path)
    other = open_store(path, read_only=True)
    writer.write(1, full(3))
    writer.checkpoint_wal()
    open_store(path, read_only=True).close()
    writer.write(1, full(4))
    log = Path(f"{path}-wal")
    assert log.stat().st_size
    reader = open_store(path, read_only=True)
    found = everything(reader, 1)
    reader.close()
    assert len(found["steps"]) == 4 and log.stat().st_size
    writer.close()
    assert everything(other, 1) == found
    other.close()
    assert log.stat().st_size  # what is not in the file yet stays
    assert written(path, 5)["steps"][:4] == found["steps"] and not log.exists()
