"""What goes wrong with a file on a disk: each fault has its error, and nothing is lost."""

import os
import random
import subprocess

import pytest

from mesa_memory.errors import (
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)
from mesa_memory.stores import RunInfo, Writer, open_store
from tests.support.disk import small_disk
from tests.support.stored import check, everything, full, rows


@pytest.fixture
def disk(tmp_path):
    """A file system of 3 MB of its own."""
    with small_disk(tmp_path / "disk", 3) as folder:
        yield folder


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.sqlite"


def recorded(path, steps=5):
    """A file with a run, closed; what is in it."""
    store = open_store(path)
    run = store.begin(RunInfo("Town"))
    for step in range(1, steps + 1):
        store.write(run, full(step))
    found = everything(store, run)
    store.close()
    return found


def test_a_full_disk_is_said_and_all_steps_before_are_kept(disk):
    store = open_store(disk / "run.sqlite")
    run, steps = store.begin(RunInfo("Town")), 0
    with pytest.raises(
        StoreFull, match=f"^{disk}/run.sqlite: .*disk is full"
    ) as caught:
        for step in range(1, 1000):
            store.write(run, full(step, agents=200, start=1))
            steps = step
    assert caught.value.location == str(disk / "run.sqlite")
    assert steps > 2
    assert len(rows(store, "steps")) == steps
    assert len(rows(store, "records")) == 200 * steps
    store.close()
    reader = open_store(disk / "run.sqlite", read_only=True)
    check(reader)
    assert len(rows(reader, "steps")) == steps
    reader.close()


def test_a_run_goes_on_after_room_was_made_on_the_disk(disk, monkeypatch):
    monkeypatch.setattr("mesa_memory.stores.writer.MAX_BEHIND", 2)
    ballast = disk / "ballast"
    ballast.write_bytes(b"x" * 2**20)
    store = open_store(disk / "run.sqlite")
    writer = Writer(store, store.begin(RunInfo("Town")))
    step = 0
    with pytest.raises(StoreFull):
        while step < 1000:
            step += 1
            writer.put(full(step, agents=100, start=1))
        writer.flush()
    with pytest.raises(StoreFull):
        writer.flush()
    written, left = len(rows(store, "steps")), writer.behind
    assert left
    ballast.unlink()
    writer.flush()
    assert [row["step"] for row in rows(store, "steps")] == list(
        range(1, written + left + 1)
    )
    writer.close()
    store.close()


def test_a_file_on_a_disk_that_is_read_only_may_be_read(disk):
    before = recorded(disk / "run.sqlite")
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    with pytest.raises(StoreReadOnly, match="read_only=True"):
        open_store(disk / "run.sqlite")
    with pytest.raises(StoreReadOnly, match="may not be written"):
        open_store(disk / "new.sqlite")
    reader = open_store(disk / "run.sqlite", read_only=True)
    assert everything(reader, 1) == before
    reader.close()


@pytest.mark.parametrize("replace", [False, True])
def test_a_file_deleted_or_replaced_while_recording_is_noticed(path, replace):
    store = open_store(path)
    run = store.begin(RunInfo("Town"))
    store.write(run, full(1))
    path.rename(path.with_name("moved.sqlite"))
    if replace:
        path.write_bytes(b"something else")
    with pytest.raises(StoreUnavailable, match="deleted, moved or replaced"):
        store.write(run, full(2))
    if replace:
        assert path.read_bytes() == b"something else"
        path.unlink()
    path.with_name("moved.sqlite").rename(path)
    store.write(run, full(2))
    assert len(rows(store, "steps")) == 2
    store.close()


@pytest.mark.parametrize(
    "content", [b"garbage" * 1000, b"x", b"SQLite format 3\0" + b"\xff" * 5000]
)
def test_garbage_is_corrupt_and_stays_as_it_is(path, content):
    path.write_bytes(content)
    with pytest.raises(StoreCorrupt):
        open_store(path)
    with pytest.raises(StoreCorrupt):
        open_store(path, read_only=True)
    assert path.read_bytes() == content
    assert os.listdir(path.parent) == [path.name]


def test_a_file_cut_off_is_corrupt_at_the_latest_when_it_is_checked(path):
    recorded(path, 30)
    whole = path.read_bytes()
    for length in (150, 5000, len(whole) // 2, len(whole) - 4096):
        path.write_bytes(whole[:length])
        with pytest.raises(StoreCorrupt):
            store = open_store(path, read_only=True)
            try:
                check(store)
            finally:
                store.close()


def test_flipped_bytes_give_typed_errors_or_data_but_never_anything_else(path):
    recorded(path, 30)
    whole, rng, corrupt = path.read_bytes(), random.Random(3), 0
    for _ in range(60):
        damaged = bytearray(whole)
        page = rng.randrange(len(whole) // 4096) * 4096
        for _ in range(rng.choice([1, 20, 400])):
            damaged[page + rng.randrange(4096)] = rng.randrange(256)
        path.write_bytes(damaged)
        try:
            store = open_store(path, read_only=True)
        except StoreError:
            corrupt += 1
            continue
        try:
            check(store)
            everything(store, 1)
        except StoreCorrupt:
            corrupt += 1
        finally:
            store.close()
    assert corrupt > 25  # a byte of a page that holds nothing may be any


def test_an_empty_file_becomes_a_new_store(path):
    path.touch()
    with pytest.raises(StoreUnavailable, match="not contain a recorded run"):
        open_store(path, read_only=True)
    recorded(path)


def test_a_missing_folder_a_folder_and_a_missing_run_are_said(path):
    with pytest.raises(StoreUnavailable, match="its folder exists"):
        open_store(path.parent / "no" / "run.sqlite")
    with pytest.raises(StoreUnavailable, match="this is a folder"):
        open_store(path.parent)
    with pytest.raises(StoreUnavailable, match="the file does not exist"):
        open_store(path, read_only=True)
    assert not path.exists()


@pytest.mark.parametrize("address", ["", "mysql://x/y", "a\0b", "postgresql://[::"])
def test_an_address_of_nothing_known_is_a_wrong_argument(address):
    with pytest.raises(ValueError):
        open_store(address)


def test_a_stores_process_is_its_own(path):
    store = open_store(path)
    child = os.fork()
    if not child:
        try:
            store.begin(RunInfo("Town"))
        except StoreError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    store.close()
