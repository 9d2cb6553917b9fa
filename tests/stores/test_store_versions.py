"""Newer, damaged and foreign stores are refused and never changed."""

import sqlite3
from contextlib import closing

import pytest
import sqlalchemy as sa

from mesa_memory.errors import StoreCorrupt, StoreError, StoreTooNew
from mesa_memory.stores import RunInfo, open_store, schema
from tests.support.stored import everything, full, rows


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.sqlite"


def run_script(path, text):
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(text)


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, path):
    """The address of an empty store."""
    if request.param == "sqlite":
        return str(path)
    return request.getfixturevalue("postgres").database()


@pytest.mark.parametrize("read_only", [False, True])
def test_a_store_of_a_newer_version_is_refused_and_both_versions_are_named(
    address, read_only
):
    store = open_store(address)
    with store.writing() as on:
        on.execute(sa.update(schema.schema_version).values(version=99))
    store.close()
    said = f"schema version 99; this mesa-memory reads up to {schema.VERSION}"
    with pytest.raises(StoreTooNew, match=said):
        open_store(address, read_only=read_only)


def test_a_file_without_a_version_or_a_column_is_corrupt(path):
    open_store(path).close()
    run_script(path, "DELETE FROM schema_version")
    with pytest.raises(StoreCorrupt, match="version is None"):
        open_store(path)
    run_script(path, "DROP TABLE schema_version")
    with pytest.raises(StoreCorrupt, match="no such table"):
        open_store(path)
    other = path.with_name("other.sqlite")
    open_store(other).close()
    run_script(other, "ALTER TABLE records DROP COLUMN importance")
    with pytest.raises(StoreCorrupt, match="records lacks importance"):
        open_store(other)


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_file_of_another_application_is_refused_and_not_changed(path, mode):
    run_script(path, f"PRAGMA journal_mode={mode}; CREATE TABLE runs (id)")
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(StoreError, match="of another application"):
            open_store(path, read_only=read_only)
    assert path.read_bytes() == before


def test_tables_of_another_application_in_postgresql_are_refused(postgres):
    address = postgres.database()
    engine = sa.create_engine(address.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as on:
        on.exec_driver_sql("CREATE TABLE runs (id int)")
    with pytest.raises(StoreError, match="tables of another application"):
        open_store(address)
    with engine.connect() as on:
        assert sa.inspect(on).get_table_names() == ["runs"]
    engine.dispose()


HUGE = "hex(zeroblob(30000000))"
HOSTILE = {
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON steps BEGIN DELETE FROM records; END",
    "a virtual table": "CREATE VIRTUAL TABLE v USING fts5(a)",
    "a table made a view": "DROP TABLE steps; CREATE VIEW steps AS SELECT * FROM runs",
    "a generated column for ours": "ALTER TABLE prompts DROP COLUMN text;"
    f"ALTER TABLE prompts ADD COLUMN text TEXT AS ({HUGE})",
    "an index of an expression": "CREATE INDEX slow ON records (length(text))",
    "a condition": f"CREATE TABLE more (a TEXT CHECK (length({HUGE}) > 0))",
}


@pytest.mark.parametrize("statement", HOSTILE.values(), ids=HOSTILE)
def test_a_file_with_code_in_its_schema_is_refused(path, statement):
    open_store(path).close()
    run_script(path, statement)
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(StoreCorrupt, match="no recorded run has"):
            open_store(path, read_only=read_only)
    assert path.read_bytes() == before


def strange(path, statement):
    """A run's file in which somebody else has written."""
    store = open_store(path)
    run = store.begin(RunInfo("Town"))
    store.write(run, full(1))
    store.close()
    run_script(path, statement)
    return open_store(path, read_only=True)


def test_a_field_too_long_to_be_ours_is_not_loaded(path):
    store = strange(
        path, "UPDATE records SET content = hex(zeroblob(50000000)) WHERE seq = 1"
    )
    with pytest.raises(StoreCorrupt, match="64 MiB"):
        everything(store, 1)
    store.close()


@pytest.mark.parametrize("text", ["{", "[" * 100_000])
def test_a_field_that_is_no_json_is_corrupt(path, text):
    quoted = text.replace("'", "''")
    store = strange(path, f"UPDATE records SET content = '{quoted}' WHERE seq = 1")
    with pytest.raises(StoreCorrupt, match="must hold JSON"):
        everything(store, 1)
    store.close()


def test_a_table_that_takes_values_of_any_type_is_refused(path):
    loose = "UPDATE sqlite_master SET sql = replace(sql, 'STRICT', '')"
    with pytest.raises(StoreCorrupt, match="hold values of any type"):
        strange(path, f"PRAGMA writable_schema = ON; {loose}")


def test_code_in_an_index_of_a_strangers_file_is_not_run(path):
    store = strange(path, "CREATE INDEX own ON records (text)")
    assert len(rows(store, "records")) == 3, "an index of one's own does no harm"
    with store.reading() as on:
        assert on.scalar(sa.text("PRAGMA trusted_schema")) == 0
    store.close()
