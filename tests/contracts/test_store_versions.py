"""Old, newer and foreign files: migrated, refused, and never changed by mistake."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from mesa_memory.errors import StoreCorrupt, StoreError, StoreReadOnly, StoreTooNew
from mesa_memory.stores import RunInfo, open_store, schema
from tests.support.postgres import postgres  # noqa: F401 - a fixture
from tests.support.stored import everything, full, rows

DATA = Path(__file__).parent.parent / "data"
OLD = """
INSERT INTO runs VALUES (1, 'old', 'Town', '{"n": 3}', '7', '{}', '2026-01-01', 'finished', NULL, NULL);
INSERT INTO records VALUES (1, 1, '1/e/message/1', '1', 'e', 'message', 1, 'hello', '{"message": "hello"}', 3,
 NULL, '[]', 1, 2, 'evicted', NULL, NULL);
INSERT INTO steps VALUES (1, 1, 1, 1, 0, 0);
"""


INSERT = """
INSERT INTO records (run, seq, id, agent, layer, kind, step, text, content, sources, valid_from)
 VALUES (1, {}, '1/e/{}', '1', 'e', 'k', 1, 'a text', '{{}}', {}, 1);
"""
#: what ``sources`` was in a file of before version 6, and what that said of the record
GUESSED = {"'[\"1/e/message/1\"]'": "derived", "'[]'": "event", "NULL": "event"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.sqlite"


def run_script(path, *texts):
    with sqlite3.connect(path) as connection:
        for text in texts:
            connection.executescript(text)
    connection.close()


def script(version, dialect):
    return (DATA / f"store_v{version}_{dialect}.sql").read_text()


@pytest.fixture(params=["sqlite", "postgresql"])
def old(request, path):
    """The address of a store of version 1 with a run."""
    return made(request, path, request.param, script(1, request.param), OLD)


def made(request, path, dialect, *texts):
    """The address of a store that these statements made."""
    if dialect == "sqlite":
        run_script(path, *texts)
        return str(path)
    server = request.getfixturevalue("postgres")
    address = server.database()
    engine = sa.create_engine(address.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as on:
        on.exec_driver_sql("CREATE EXTENSION vector")
        for statement in "".join(texts).split(";\n"):
            if statement.strip():
                on.exec_driver_sql(statement)
    engine.dispose()
    return address


def test_there_is_an_old_store_of_every_version():
    versions = {int(p.name.split("_")[1][1:]) for p in DATA.glob("store_v*_sqlite.sql")}
    assert versions == set(range(1, schema.VERSION))


def test_an_old_store_is_migrated_and_keeps_what_it_holds(old):
    with pytest.raises(
        StoreReadOnly, match=f"schema version 1 and must become {schema.VERSION}"
    ):
        open_store(old, read_only=True)
    store = open_store(old)
    (record,) = rows(store, "records")
    assert record["text"] == "hello" and record["embedder"] is None
    assert (record["content"], record["sources"]) == ({"message": "hello"}, [])
    assert record["origin"] == "event"
    store.write(1, full(2, start=2))
    for table in ("interventions", "answers"):
        assert len(rows(store, table)) == 1
    assert rows(store, "schema_version") == [
        {"application": "mesa-memory", "version": schema.VERSION}
    ]
    store.close()
    open_store(old, read_only=True).close()


@pytest.mark.parametrize("version", range(1, schema.VERSION))
def test_a_migrated_store_has_the_tables_of_a_new_one(path, version):
    run_script(path, script(version, "sqlite"))
    open_store(path).close()
    open_store(path.with_name("new.sqlite")).close()

    def tables(file):
        with sqlite3.connect(file) as connection:
            names = connection.execute(
                "SELECT name FROM sqlite_master ORDER BY name"
            ).fetchall()
            return {
                name: connection.execute(f'PRAGMA table_info("{name}")').fetchall()
                for (name,) in names
            }

    assert tables(path) == tables(path.with_name("new.sqlite"))


@pytest.mark.parametrize("version", range(1, 6))
@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_in_an_old_store_what_was_made_of_others_was_derived(
    version, dialect, path, request
):
    given = [INSERT.format(n, n, sources) for n, sources in enumerate(GUESSED)]
    address = made(request, path, dialect, script(version, dialect), *given)
    with closing(open_store(address)) as store:
        found = [row["origin"] for row in rows(store, "records")]
    assert found == list(GUESSED.values())


@pytest.mark.parametrize("version", range(1, 7))
@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_in_an_old_store_no_call_was_kept_and_nothing_is_known_of_caches(
    version, dialect, path, request
):
    call = "INSERT INTO calls (run, seq, step, agent) VALUES (1, 1, 1, 'a');\n"
    address = made(request, path, dialect, script(version, dialect), call)
    with closing(open_store(address)) as store:
        (row,) = rows(store, "calls")
    names = ("tokens_cached", "tier", "kept", "client", "form")
    assert [row[name] for name in names] == [None, None, False, None, None]


def test_a_migration_that_fails_changes_nothing(path):
    # A table of that name is in the way of version 2.
    run_script(path, script(1, "sqlite"), OLD, "CREATE TABLE interventions (mine TEXT)")
    with pytest.raises(StoreError, match="interventions"):
        open_store(path)
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT version FROM schema_version").fetchone() == (
            1,
        )
        assert "embedder" not in [
            row[1] for row in connection.execute("PRAGMA table_info(records)")
        ]


@pytest.mark.parametrize("read_only", [False, True])
def test_a_store_of_a_newer_version_is_refused_and_both_versions_are_named(
    old, read_only
):
    store = open_store(old)
    with store.writing() as on:
        on.execute(sa.update(schema.schema_version).values(version=99))
    store.close()
    with pytest.raises(
        StoreTooNew,
        match=f"schema version 99; this mesa-memory reads up to {schema.VERSION}",
    ):
        open_store(old, read_only=read_only)


def test_a_file_without_a_version_or_a_column_is_corrupt(path):
    run_script(path, script(1, "sqlite"), "DELETE FROM schema_version")
    with pytest.raises(StoreCorrupt, match="version is None"):
        open_store(path)
    run_script(path, "DROP TABLE schema_version")
    with pytest.raises(StoreCorrupt, match="no such table"):
        open_store(path)
    other = path.with_name("other.sqlite")
    open_store(other).close()
    run_script(other, "ALTER TABLE records DROP COLUMN embedding")
    with pytest.raises(StoreCorrupt, match="records has no embedding"):
        open_store(other)


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_file_of_another_application_is_refused_and_not_changed(path, mode):
    run_script(
        path,
        f"PRAGMA journal_mode={mode}; CREATE TABLE runs (id); INSERT INTO runs VALUES (1)",
    )
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(StoreError, match="of another application"):
            open_store(path, read_only=read_only)
    assert path.read_bytes() == before


def test_tables_of_another_application_in_postgresql_are_refused(postgres):  # noqa: F811
    address = postgres.database()
    engine = sa.create_engine(address.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as on:
        on.exec_driver_sql("CREATE TABLE runs (id int)")
    with pytest.raises(StoreError, match="tables of another application"):
        open_store(address)
    with engine.connect() as on:
        assert sa.inspect(on).get_table_names() == ["runs"]
    engine.dispose()


HOSTILE = {
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON steps BEGIN DELETE FROM records; END",
    "another view": "CREATE VIEW v AS SELECT load_extension('x')",
    "another view of our name": "DROP VIEW recalled; CREATE VIEW recalled AS SELECT writefile('a', 'b') AS id",
    "a virtual table": "CREATE VIRTUAL TABLE v USING fts5(a)",
    "a table made a view": "DROP TABLE steps; CREATE VIEW steps AS SELECT * FROM runs",
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
        path, "UPDATE records SET content = zeroblob(100000000) WHERE seq = 1"
    )
    with pytest.raises(StoreCorrupt, match="64 MiB"):
        everything(store, 1)
    store.close()


@pytest.mark.parametrize("text", ["{", "'\x01'", "[" * 100_000, "nonsense", "[1e"])
def test_a_field_that_is_no_json_is_corrupt(path, text):
    store = strange(
        path,
        "UPDATE records SET content = '{}' WHERE seq = 1".format(
            text.replace("'", "''")
        ),
    )
    with pytest.raises(StoreCorrupt, match="must hold JSON"):
        everything(store, 1)
    store.close()


def test_code_in_an_index_of_a_strangers_file_is_not_run(path):
    store = strange(path, "CREATE INDEX own ON records (text)")
    assert len(rows(store, "records")) == 3, "an index of one's own does no harm"
    with store.reading() as on:
        assert on.scalar(sa.text("PRAGMA trusted_schema")) == 0
    store.close()
