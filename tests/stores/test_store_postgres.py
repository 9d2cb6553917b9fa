"""PostgreSQL alone: many writers at once, a server that goes away, what is missing."""

import tempfile
from pathlib import Path

import pytest
import sqlalchemy as sa

from mesa_memory.errors import MissingExtra, StoreReadOnly, StoreUnavailable
from mesa_memory.stores import RunInfo, Writer, open_store
from tests.support.postgres import server_or_skip
from tests.support.stored import full, rows


@pytest.fixture
def folder():
    """A place for a server's data: pytest's own folders are closed to other users."""
    with tempfile.TemporaryDirectory(prefix="mesa-memory-") as name:
        yield Path(name)


def test_a_server_that_stops_is_unavailable_and_keeps_every_finished_step(folder):
    server = server_or_skip(folder / "data")
    store = open_store(server.database())
    writer = Writer(store, store.begin(RunInfo("Town")))
    writer.put(full(1))
    writer.flush()
    server.stop()
    writer.put(full(2))
    with pytest.raises(StoreUnavailable, match=r"(Start it|Check the server)"):
        writer.flush()
    assert writer.behind == 1
    with pytest.raises(StoreUnavailable):
        open_store(store.location.replace(":***", ""))
    again = server_or_skip(folder / "data")
    writer.flush()
    assert [row["step"] for row in rows(store, "steps")] == [1, 2]
    writer.close()
    store.close()
    again.stop()


def test_an_address_without_a_database_or_server_says_what_to_do_and_no_password(
    postgres, tmp_path
):
    address = postgres.database().replace("/test_", "/none_")
    for given, said in (
        (address.replace("postgres:@", "postgres:hush@"), "check host, port, user and"),
        (f"postgresql://u:hush@/db?host={tmp_path}", "cannot be used"),
    ):
        with pytest.raises(StoreUnavailable, match=said) as caught:
            open_store(given)
        assert "hush" not in str(caught.value)
    with pytest.raises(StoreUnavailable, match="not contain a recorded run"):
        open_store(postgres.database(), read_only=True)


def test_a_user_who_may_not_write_is_told(postgres):
    address = postgres.database()
    store = open_store(address)
    with store.writing() as on:
        on.execute(sa.text("DROP ROLE IF EXISTS guest"))
        on.execute(sa.text("CREATE ROLE guest LOGIN"))
        on.execute(sa.text("GRANT SELECT ON ALL TABLES IN SCHEMA public TO guest"))
    guest = open_store(address.replace("postgres:@", "guest:@"))
    with pytest.raises(StoreReadOnly):
        guest.begin(RunInfo("Town"))
    guest.close()
    store.close()


def test_a_missing_package_names_the_extra_that_brings_it(monkeypatch):
    from mesa_memory.stores import postgres as module

    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r'pip install "mesa-memory\[postgres\]"'):
        open_store("postgresql://localhost/db")
