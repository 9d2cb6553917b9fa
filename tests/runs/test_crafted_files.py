"""A run file of somebody else, in which a field is not what belongs there."""

import shutil
import sqlite3

import pytest

from tests.support.junk import JUNK, READERS, fields, plain, recorded, spoil, where


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("crafted") / "run.sqlite")
    recorded(path)
    return path


@pytest.fixture
def spoiled(whole, tmp_path):
    """Makes a copy of the file with junk in a field."""

    def make(table, column, junk):
        path = str(tmp_path / f"{table}.{column}.{junk}.sqlite")
        shutil.copy(whole, path)
        return path if spoil(path, table, column, JUNK[junk]) else None

    return make


def complaint(reader, path):
    """What it answers, if that is neither data nor a plain error; else None."""
    try:
        READERS[reader](path)
    except Exception as error:
        return None if plain(error) else where(error)


def test_the_file_itself_is_read_by_all(whole):
    assert {name for name in READERS if complaint(name, whole)} == set()
    for reader in READERS.values():
        if reader is not READERS["diff"]:
            reader(whole)


#: each ended in a TypeError, AttributeError, KeyError or a ValueError of Python's own
CASES = [
    ("schema_version", "version", "text", "questions"),
    ("schema_version", "version", "text", "cost"),
    ("steps", "step", "text", "dashboard"),
    ("steps", "step", "text", "questions"),
    ("steps", "seq", "text", "inspect"),
    ("steps", "seq", "text", "resume"),
    ("records", "seq", "text", "evidence"),
    ("records", "step", "text", "fork"),
    ("records", "step", "text", "questions"),
    ("records", "valid_from", "text", "dashboard"),
    ("records", "valid_to", "text", "evidence"),
    ("records", "graded_at", "text", "dashboard"),
    ("records", "importance", "text", "resume"),
    ("records", "sources", "huge", "resume"),
    ("records", "origin", "text", "resume"),
    ("records", "subject", "dict", "fork"),
    ("records", "content", "huge", "resume"),
    ("records", "content", "dict", "resume"),
    ("records", "run", "text", "resume"),
    ("calls", "latency", "text", "dashboard"),
    ("calls", "attempts", "text", "replay"),
    ("calls", "tokens_in", "text", "replay"),
    ("calls", "raw", "huge", "replay"),
    ("calls", "raw", "dict", "replay"),
    ("answers", "value", "dict", "fork"),
    ("scenes", "state", "text", "resume"),
    ("checkpoints", "state", "huge", "resume"),
    ("checkpoints", "state", "dict", "resume"),
    ("checkpoints", "step", "text", "fork"),
]


def test_junk_in_a_field_ends_in_a_plain_error(spoiled):
    for table, column, junk, reader in CASES:
        path = spoiled(table, column, junk)
        assert path is not None
        assert complaint(reader, path) is None


def test_each_column_may_hold_anything_and_what_reads_all_of_it_stays_plain(
    whole, spoiled
):
    kinds, said = list(JUNK), []
    for number, (table, column) in enumerate(fields(whole)):
        if path := spoiled(table, column, kinds[number % len(kinds)]):
            said += [(path, complaint("check", path))]
    assert len(said) > 60
    assert [one for one in said if one[1]] == []


def test_a_field_of_another_type_is_named_with_what_belongs_there(spoiled):
    from mesa_memory import open_run
    from mesa_memory.errors import StoreCorrupt

    path = spoiled("steps", "step", "text")
    with open_run(path) as run, pytest.raises(StoreCorrupt) as info:
        _ = run.steps
    assert str(info.value).startswith(f"{path}: steps.step holds 'junk', not a finite")
    assert "restore a backup" in str(info.value)
    assert sqlite3.connect(path).execute("SELECT step FROM steps").fetchone()
