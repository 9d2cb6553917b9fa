"""A run file of somebody else, in which a field is not what belongs there."""

import itertools
import shutil
import sqlite3

import pytest

from mesa_memory import open_run
from mesa_memory.errors import StoreCorrupt
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
    for reader in READERS.values():
        reader(whole)


#: (reader, junk) -> fields; each ended in an error of Python's own
CASES = {
    ("questions", "infinite"): ["steps.step", "records.step"],
    ("cost", "huge"): ["schema_version.version"],
    ("dashboard", "infinite"): ["steps.step", "records.valid_from", "records.graded_at", "calls.latency"],
    ("evidence", "infinite"): ["records.valid_to"],
    ("fork", "infinite"): ["records.step", "checkpoints.step"],
    ("fork", "dict"): ["records.subject", "answers.value"],
    ("resume", "text"): ["records.origin", "scenes.state"],
    ("resume", "infinite"): ["records.importance"],
    ("resume", "huge"): ["records.sources", "records.content", "checkpoints.state"],
    ("resume", "dict"): ["records.content", "checkpoints.state"],
    ("replay", "huge"): ["calls.attempts", "calls.tokens_in"],
    ("replay", "dict"): ["calls.raw"],
}  # fmt: skip


def test_junk_in_a_field_ends_in_a_plain_error(spoiled):
    for (reader, junk), places in CASES.items():
        for place in places:
            path = spoiled(*place.split("."), junk)
            assert path is not None
            assert complaint(reader, path) is None, place


def test_each_column_may_hold_anything_and_what_reads_all_of_it_stays_plain(
    whole, spoiled
):
    kinds, said = itertools.cycle(JUNK), {}
    for table, column in fields(whole):
        if path := spoiled(table, column, next(kinds)):
            said[path] = complaint("check", path)
    assert len(said) > 60
    assert {path: told for path, told in said.items() if told} == {}


def test_sqlite_refuses_a_value_of_another_type_and_a_number_is_finite(spoiled):
    assert spoiled("steps", "step", "text") is None
    assert spoiled("records", "text", "bytes") is None
    path = spoiled("steps", "step", "infinite")
    said = f"^{path}: steps.step holds inf, not a finite.*restore a backup"
    with open_run(path) as run, pytest.raises(StoreCorrupt, match=said):
        _ = run.steps
    assert sqlite3.connect(path).execute("SELECT step FROM steps").fetchone()
