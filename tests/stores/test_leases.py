"""Each run has one writer, and the lease of a dead writer is free at once."""

import os
import subprocess
import sys
from contextlib import ExitStack, closing

import pytest
import sqlalchemy as sa

from mesa_memory.errors import RunInUse, StoreBusy
from mesa_memory.stores import Batch, RunInfo, open_store, schema
from mesa_memory.stores.copying import copy_file
from mesa_memory.stores.studies import Studies
from tests.support.stored import everything, full, rows

WRITES = """
import sys
from mesa_memory.stores import RunInfo, open_store
store = open_store(sys.argv[1])
store.hold(1)
print("held", flush=True)
sys.stdin.read()
"""


#: makes a new store, in which each of four processes writes a run
FOUR_RUNS = """
import os, sys
from mesa_memory.stores import RunInfo, Writer, open_store
from tests.support.stored import full
children = []
for seed in range(4):
    children.append(os.fork())
    if not children[-1]:
        store = open_store(sys.argv[1])
        writer = Writer(store, store.begin(RunInfo("Town", seed=str(seed))))
        for step in range(1, 11):
            writer.put(full(step, agents=20))
        writer.close()
        store.end(writer.run, "finished")
        store.close()
        os._exit(0)
sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children))
"""


@pytest.fixture(params=["file", "postgres"])
def place(request, tmp_path):
    if request.param == "file":
        return str(tmp_path / "run.sqlite")
    return request.getfixturevalue("postgres").database()


@pytest.fixture
def file(tmp_path):
    return tmp_path / "run.sqlite"


@pytest.fixture
def opened():
    """Opens stores, which are closed at the end of the test."""
    with ExitStack() as stack:
        yield lambda *given, **how: stack.enter_context(
            closing(open_store(*given, **how))
        )


def begun(store):
    return store, store.begin(RunInfo("Town"))


def test_four_processes_make_a_store_at_once_and_each_writes_a_whole_run(place):
    subprocess.run([sys.executable, "-c", FOUR_RUNS, place], check=True, timeout=600)
    store = open_store(place, read_only=True)
    runs = rows(store, "runs")
    assert [run["state"] for run in runs] == ["finished"] * 4
    assert {run["seed"] for run in runs} == {"0", "1", "2", "3"}
    first = everything(store, 1)
    assert (len(first["steps"]), len(first["records"])) == (10, 200)
    for run in (2, 3, 4):
        for table, found in everything(store, run).items():
            if table != "runs":
                assert [row | {"run": 1} for row in found] == first[table]
    store.close()


def test_a_lock_that_is_not_let_go_is_busy_and_can_be_waited_for(place, opened):
    first, second = opened(place), opened(place, timeout=0.2)
    run = second.begin(RunInfo("Town"))
    with first.writing() as on:
        if place.startswith("postgresql"):
            on.execute(sa.text("LOCK TABLE records"))
        with pytest.raises(StoreBusy, match="timeout"):
            second.write(run, full(1))
    second.write(run, full(1))
    assert len(rows(second, "steps")) == 1


def test_two_stores_write_two_runs_of_one_place_but_never_the_same_run(place, opened):
    first, one = begun(opened(place))
    second, two = begun(opened(place))
    for step in (1, 2):
        first.write(one, Batch(step))
        second.write(two, Batch(step))
    for run, refused in [(one, second), (two, first)]:
        with pytest.raises(RunInUse, match=f"process {os.getpid()} on ") as told:
            refused.write(run, Batch(3))
        assert told.value.here
        assert told.value.location == refused.location
    first.release(one)
    second.write(one, Batch(3))
    with pytest.raises(RunInUse):
        first.write(one, Batch(4))


def test_a_run_that_was_ended_or_whose_store_was_closed_is_free(place, opened):
    first, run = begun(opened(place))
    second = open_store(place)
    first.write(run, Batch(1))
    first.end(run, "finished")
    second.write(run, Batch(2))
    second.close()
    first.write(run, Batch(3))


def test_the_run_of_a_killed_process_is_free_at_once(place, opened):
    mine, run = begun(opened(place))
    mine.release(run)
    command = [sys.executable, "-c", WRITES, place]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        try:
            assert other.stdout.readline() == "held\n"
            with pytest.raises(RunInUse, match=f"process {other.pid} on ") as told:
                mine.hold(run)
            assert not told.value.here
            with mine.writing() as on:
                assert mine.has_writer(on, run)
        finally:
            other.kill()
    with mine.writing() as on:
        assert not mine.has_writer(on, run)
    mine.write(run, Batch(1))


def test_a_transaction_that_fails_leaves_the_run_free(place, opened):
    first, run = begun(opened(place))
    first.release(run)
    with pytest.raises(ZeroDivisionError), first.writing() as on:
        first.confirm(on, run)
        raise ZeroDivisionError
    opened(place).write(run, Batch(1))


def test_a_writer_whose_lock_was_lost_goes_on_until_another_takes_the_run(
    postgres, opened
):
    place = postgres.database()
    first, run = begun(opened(place))
    first.write(run, Batch(1))
    end_connections(place)
    second = opened(place)
    first.engine.dispose()  # its other connections were ended, too
    first.write(run, Batch(2))
    with pytest.raises(RunInUse):
        second.write(run, Batch(3))
    end_connections(place)
    second.engine.dispose()
    second.write(run, Batch(3))
    first.engine.dispose()
    with pytest.raises(RunInUse, match="was taken over: process"):
        first.write(run, Batch(4))
    second.write(run, Batch(4))


def end_connections(place):
    """Ends all connections to a database, as a server does that is started anew."""
    ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    ended += "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    address = sa.make_url(place).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(address)
    with engine.connect() as on:
        on.execute(sa.text(ended))
    engine.dispose()


def test_a_writer_whose_lock_file_was_deleted_is_stopped_by_the_next_one(file, opened):
    first, run = begun(opened(file))
    (lock,) = file.parent.glob("*-lock-*")
    lock.unlink()
    second = opened(file)
    second.write(run, Batch(1))
    with pytest.raises(RunInUse, match="was taken over: process"):
        first.write(run, Batch(2))
    second.write(run, Batch(2))


def test_another_name_of_a_file_has_the_same_locks(file, tmp_path, opened):
    first, run = begun(opened(file))
    link = tmp_path / "other.sqlite"
    link.symlink_to(file)
    second = opened(link)
    with pytest.raises(RunInUse):
        second.hold(run)
    first.close()
    second.hold(run)


def test_a_copy_of_a_file_that_is_being_written_is_free(file, tmp_path, opened):
    first, run = begun(opened(file))
    first.write(run, Batch(1))
    opened(copy_file(file, tmp_path / "copy.sqlite")).write(run, Batch(2))
    first.write(run, Batch(2))


def test_no_lock_file_stays_beside_a_closed_file(file):
    for end in (lambda store, run: store.close(), lambda store, run: store.end(run, "stopped")):  # fmt: skip
        store, run = begun(open_store(file))
        assert [*file.parent.glob("*-lock-*")]
        end(store, run)
        assert not [*file.parent.glob("*-lock-*")]
        store.close()
    assert [path.name for path in file.parent.iterdir()] == [file.name]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
def test_a_forked_child_does_not_keep_its_parents_run(file, opened):
    command = [sys.executable, "-c", FORKS, str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        parent.kill()
    try:
        opened(file).write(1, Batch(1))
    finally:
        os.kill(child, 9)


FORKS = """
import os, sys, time
from mesa_memory.stores import RunInfo, open_store
store = open_store(sys.argv[1])
store.begin(RunInfo("Town"))
child = os.fork()
if child:
    print(child, flush=True)
time.sleep(60)
"""


def test_what_dead_workers_had_reserved_is_freed_and_not_that_of_the_living(
    place, opened
):
    store, run = begun(opened(place))
    other, dead = begun(opened(place))
    other.release(dead)
    studies = Studies(store)
    study = studies.add("s", "Town", {}, {}).id
    rows = [
        {"key": str(n), "name": "", "parameters": {}, "seed": n}
        | {"replicate": 0, "steps": 1}
        for n in range(2)
    ]
    studies.add_cases(study, rows)
    amount = {"calls": 1, "tokens": 2, "cost": 3}
    for number, own in ((1, run), (2, dead)):
        studies.settle(study, number, run=own)
        row = {"study": study, "number": number, "used": {}, "beyond": amount}
        with store.writing() as on:
            on.execute(sa.insert(schema.spending).values(row | {"reserved": amount}))
    Studies(other).free_reserved(study)
    with store.reading() as on:
        query = sa.select(schema.spending.c.reserved).order_by(schema.spending.c.number)
        living, freed = on.scalars(query).all()
    assert living == amount
    assert set(freed.values()) == {0}
