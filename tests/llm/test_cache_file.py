"""The cache of responses and vectors: its contents, and a file that goes wrong."""

import json
import logging
import sqlite3
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from mesa_memory import configure, open_run
from mesa_memory.core.text import redaction
from mesa_memory.errors import CacheError
from mesa_memory.llm import cache as cache_file
from mesa_memory.llm.cache import CacheFile, ResponseCache
from tests.support.disk import small_disk
from tests.support.keeping import live, town
from tests.support.openai_server import OpenAIServer
from tests.support.waiting import HUNG

KEY = "sk-planted-key-abcdefghij"


@pytest.fixture
def file(tmp_path):
    return tmp_path / "cache.sqlite"


@pytest.fixture
def disk(tmp_path):
    """A file system of 1 MB of its own."""
    with small_disk(tmp_path / "disk", 1) as folder:
        yield folder


def warnings_of(caplog):
    return [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]


def asked(server):
    count = len(server.log)
    server.clear()
    return count


def everything(folder):
    """All bytes of a cache's files."""
    return b"".join(f.read_bytes() for f in folder.glob("cache.sqlite*"))


# -- what is in it -------------------------------------------------------------------


def test_neither_prompts_nor_keys_are_in_it(tmp_path, file, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def answer(received):
        return f'{{"summary": "The mill, says {KEY}, word 1 of 1 at the mill."}}'

    with OpenAIServer(answer) as server:
        made = town(server.base, count=1, cache=file, options={"api_key": KEY})
        live(made, 1)
        assert KEY.encode() not in everything(tmp_path)
        assert b"word 1 of 1" in everything(tmp_path)
        assert b"Summary so far" not in everything(tmp_path)
        again = live(town(server.base, count=1, cache=file), 1)
        assert again["cached"] == 1 and redaction.REDACTED in again["shown"][0]


# -- a wrong file --------------------------------------------------------------------


def garbage(path):
    path.write_bytes(b"This is no SQLite file, but long enough to be one. " * 100)


def foreign(path):
    with closing(sqlite3.connect(path)) as on:
        on.execute("CREATE TABLE cached (key, value)")


def recorded(path):
    made = town(None, llm="offline", record=str(path))
    live(made, 1)
    made.services.recorder.close()


def newer(path):
    ResponseCache(path)
    with closing(sqlite3.connect(path)) as on:
        on.execute("PRAGMA user_version = 99")


def without_table(path):
    ResponseCache(path)
    with closing(sqlite3.connect(path)) as on:
        on.execute("DROP TABLE cached")


def folder(path):
    path.mkdir()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (garbage, "not a database"),
        (foreign, "not a cache, and"),
        (recorded, "a recorded run cannot be used as one"),
        (newer, "format 99, expected at most 1"),
        (without_table, "no such table"),
        (folder, "unable to open"),
    ],
)
def test_a_file_of_something_else_is_told_and_nothing_is_changed(
    make, says, server, file
):
    make(file)
    before = file.read_bytes() if file.is_file() else None
    made = town(server.base)
    with pytest.raises(CacheError, match=says) as told:
        configure(made, cache=file, timeout=3)
    assert told.value.location == str(file)
    assert made.services.cache is None and made.services.settings.timeout != 3
    assert before is None or file.read_bytes() == before
    if make is recorded:
        with open_run(file) as run:
            assert list(run.steps) == [1]


def test_the_address_of_a_database_is_refused_without_its_password():
    with pytest.raises(ValueError, match="cache") as told:
        town(None, cache="postgresql://me:secret-pw-1@here/db")
    assert "secret-pw-1" not in str(told.value)


# -- a file that goes wrong ----------------------------------------------------------


def test_a_row_that_cannot_be_used_is_asked_for_again_and_put_right(
    server, file, caplog
):
    live(town(server.base, count=4, cache=file), 1)
    assert asked(server) == 4
    with closing(sqlite3.connect(file)) as on, on:
        kept = on.execute("SELECT key, value FROM cached").fetchall()
        rows = [
            "not json",
            '{"text": 3}',
            '{"text": 3, "model": "", "finish": "", "raw": 0}',
            json.dumps(json.loads(kept[-1][1]) | {"text": "{}"}),
        ]
        on.executemany(
            "UPDATE cached SET value = ? WHERE key = ?",
            [(row.encode(), key) for row, (key, _) in zip(rows, kept, strict=True)],
        )
    live(town(server.base, count=4, cache=file), 1)
    assert asked(server) == 4
    assert any("a response is damaged" in text for text in warnings_of(caplog))
    assert live(town(server.base, count=4, cache=file), 1)["cached"] == 4


def test_while_another_program_holds_it_models_are_asked(
    server, file, caplog, monkeypatch
):
    monkeypatch.setattr(cache_file, "LOCK_TIMEOUT_S", 0.05)
    made = town(server.base, cache=file)
    with closing(sqlite3.connect(file, isolation_level=None)) as on:
        on.execute("BEGIN IMMEDIATE")
        live(made, 2)
        assert asked(server) == 6
        on.execute("ROLLBACK")
    (told,) = warnings_of(caplog)
    assert "cannot be written now (database is locked)" in told
    live(made, 2)
    assert asked(server) == 6
    assert live(town(server.base, cache=file), 4)["cached"] == 6


def test_a_disk_that_may_only_be_read_gives_answers_and_takes_none(
    server, disk, caplog
):
    place = disk / "cache.sqlite"
    first = town(server.base, cache=place)
    live(first, 1)
    configure(first, cache=None)
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    asked(server)
    assert live(town(server.base, cache=place), 2)["cached"] == 3
    assert asked(server) == 3
    with pytest.raises(CacheError, match="may be written"):
        town(server.base, cache=disk / "new.sqlite")


def test_a_full_disk_keeps_what_was_written_and_the_run_goes_on(disk, caplog):
    def answer(received):
        end = received.prompt[-300:].replace("\n", " ").replace('"', "")
        return f'{{"summary": "{end} {"mill " * 600}"}}'

    with OpenAIServer(answer) as server:
        (disk / "ballast").write_bytes(b"x" * 900_000)
        place = disk / "cache.sqlite"
        made = town(server.base, count=8, cache=place)
        result = live(made, 8)
        assert result["calls"] == asked(server) == 64
        (told,) = warnings_of(caplog)
        assert "cannot be written now" in told
        again = live(town(server.base, count=8, cache=place), 8)
        assert 0 < again["cached"] < again["calls"] == 64


def test_a_file_that_breaks_while_it_is_used_is_told_once(server, file, caplog):
    made = town(server.base, cache=file)
    live(made, 1)
    with file.open("r+b") as on:
        on.write(b"broken" * 2000)
    ResponseCache.of(file)
    live(made, 3)
    assert asked(server) >= 9
    assert made.services.ledger.total.failures == 0
    assert len(warnings_of(caplog)) <= 2


def test_many_may_make_the_same_file_at_the_same_time(tmp_path):
    together = threading.Barrier(8)

    def make(place):
        together.wait(timeout=HUNG)
        file = CacheFile(place)
        file.write({b"key": b"text"})
        return file.read([b"key"])[b"key"]

    with ThreadPoolExecutor(8) as pool:
        for number in range(25):
            places = [tmp_path / f"{number}.sqlite"] * 8
            assert set(pool.map(make, places)) == {b"text"}


def test_one_file_has_one_cache_in_a_process(file, monkeypatch):
    monkeypatch.chdir(file.parent)
    first = ResponseCache.of(file)
    assert ResponseCache.of("cache.sqlite") is first
    file.unlink()
    assert ResponseCache.of(file) is not first
    assert file.exists()


def test_a_long_value_is_not_cached(file):
    cache = CacheFile(file)
    cache.write({b"long": b"x" * (cache_file.MAX_VALUE_BYTES + 1), b"short": b"x"})
    assert cache.read([b"long", b"short"]) == {b"short": b"x"}
