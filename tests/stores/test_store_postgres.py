"""PostgreSQL alone: many writers at once, a server that goes away, what is missing."""

# ruff: noqa: F811 - fixtures are imported, and named again as arguments

import subprocess
import sys

import pytest
import sqlalchemy as sa

from mesa_memory.errors import (
    MissingExtra,
    StoreBusy,
    StoreError,
    StoreReadOnly,
    StoreUnavailable,
)
from mesa_memory.stores import RunInfo, Writer, open_store
from tests.support.postgres import folder, postgres, server_or_skip  # noqa: F401 - fixtures
from tests.support.stored import everything, full, rows

RUNS = """
import os, sys
from mesa_memory.stores import RunInfo, Writer, open_store
from tests.support.stored import full
children = []
for seed in range(4):
    children.append(os.fork())
    if not children[-1]:
        store = open_store(sys.argv[1])
        writer = Writer(store, store.begin(RunInfo("Town", seed=str(seed))))
        for step in range(1, 26):
            writer.put(full(step, agents=20))
        writer.close()
        store.end(writer.run, "finished")
        store.close()
        os._exit(0)
sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children))
"""


def test_four_processes_write_four_runs_at_once_and_all_complete(postgres):
    address = postgres.database()
    subprocess.run([sys.executable, "-c", RUNS, address], check=True, timeout=600)
    store = open_store(address, read_only=True)
    runs = rows(store, "runs")
    assert [run["state"] for run in runs] == ["finished"] * 4
    assert {run["seed"] for run in runs} == {"0", "1", "2", "3"}
    first = everything(store, 1)
    assert (len(first["steps"]), len(first["records"])) == (25, 500)
    for run in (2, 3, 4):
        for table, found in everything(store, run).items():
            if table != "runs":
                assert [row | {"run": 1} for row in found] == first[table]
    store.close()


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


def test_a_lock_that_is_not_let_go_is_busy(postgres):
    address = postgres.database()
    first, second = open_store(address), open_store(address, timeout=0.2)
    run = second.begin(RunInfo("Town"))
    with first.writing() as on:
        on.execute(sa.text("LOCK TABLE records"))
        with pytest.raises(StoreBusy):
            second.write(run, full(1))
    second.write(run, full(1))
    first.close()
    second.close()


def test_an_address_without_a_database_or_server_says_what_to_do_and_no_password(
    postgres, tmp_path
):
    address = (
        postgres.database()
        .replace("/test_", "/none_")
        .replace("postgres:@", "postgres:hush@")
    )
    with pytest.raises(
        StoreUnavailable, match="check host, port, user and database"
    ) as caught:
        open_store(address)
    assert "hush" not in str(caught.value)
    with pytest.raises(StoreUnavailable, match="cannot be reached") as caught:
        open_store(f"postgresql://u:hush@/db?host={tmp_path}")
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


def test_an_address_that_is_none_is_a_wrong_argument():
    with pytest.raises(ValueError, match="not the address"):
        open_store("postgresql://[::")


def test_an_error_of_a_batch_says_what_the_server_said(postgres):
    store = open_store(postgres.database())
    run = store.begin(RunInfo("Town"))
    batch = full(1)
    del batch.opened[0]["layer"]
    with pytest.raises(StoreError, match="layer"):
        store.write(run, batch)
    assert rows(store, "records") == []
    store.close()
