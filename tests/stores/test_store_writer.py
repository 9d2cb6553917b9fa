"""The thread that writes a run: order, waiting, errors, and being killed."""

import itertools
import threading

import pytest

from mesa_memory.errors import StoreBusy, StoreError, StoreFull
from mesa_memory.stores import Batch, Writer
from tests.support.waiting import until


class Troubled:
    """A store that counts what it is asked, and fails or waits when told to."""

    def __init__(self):
        self.written, self.asked = [], []
        self.error = None
        self.open = threading.Event()
        self.open.set()

    def write(self, run, *batches):
        self.open.wait()
        self.asked.append([batch.step for batch in batches])
        if self.error is not None and any(b.step >= self.error[0] for b in batches):
            raise self.error[1]
        self.written += [batch.step for batch in batches]


@pytest.fixture
def troubled():
    return Troubled()


def writing(store, steps, waiting=False):
    """A writer with these steps, which wait until the store is open again."""
    if waiting:
        store.open.clear()
    writer = Writer(store, 1)
    for step in steps:
        writer.put(Batch(step))
    return writer


def test_batches_that_wait_are_written_together(troubled):
    writer = writing(troubled, range(20), waiting=True)
    troubled.open.set()
    writer.close()
    assert troubled.written == list(range(20))
    assert len(troubled.asked) <= 5


def test_putting_waits_only_when_too_many_batches_are_behind(troubled, monkeypatch):
    monkeypatch.setattr("mesa_memory.stores.writer.MAX_BEHIND", 3)
    writer = writing(troubled, range(3), waiting=True)
    fourth = threading.Thread(target=writer.put, args=(Batch(3),))
    fourth.start()
    fourth.join(0.2)
    assert fourth.is_alive() and writer.behind == 3
    troubled.open.set()
    fourth.join()
    writer.close()
    assert troubled.written == [0, 1, 2, 3]


def test_an_error_is_raised_at_the_next_put_and_nothing_later_is_written(troubled):
    troubled.error = (2, StoreFull("the disk is full"))
    writer = Writer(troubled, 1)
    steps = itertools.count()
    with pytest.raises(StoreFull):
        until(lambda: writer.put(Batch(next(steps))))
    with pytest.raises(StoreFull):
        writer.put(Batch(9))
    assert troubled.written == [0, 1]


def test_sound_batches_before_a_bad_one_are_written_though_they_waited_together(
    troubled,
):
    troubled.error = (5, StoreFull("the disk is full"))
    writer = writing(troubled, range(7), waiting=True)
    troubled.open.set()
    with pytest.raises(StoreFull):
        writer.flush()
    assert troubled.written == [0, 1, 2, 3, 4]
    assert writer.behind == 2


def test_flushing_again_writes_what_could_not_be_written(troubled):
    troubled.error = (1, StoreBusy("somebody else writes"))
    writer = Writer(troubled, 1)
    steps = itertools.count()
    with pytest.raises(StoreBusy):
        until(lambda: writer.put(Batch(next(steps))))
    left = writer.behind
    assert left >= 1
    troubled.error = None
    writer.close()
    assert troubled.written == list(range(1 + left))


def test_a_closed_writer_takes_no_more_and_its_thread_has_ended(troubled):
    before = set(threading.enumerate())
    writer = writing(troubled, [1])
    writer.close()
    writer.close()
    with pytest.raises(ValueError, match="closed"):
        writer.put(Batch(2))
    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize("error", [StoreError("no"), ZeroDivisionError("a bug")])
def test_closing_after_any_error_raises_it_and_ends_the_thread(troubled, error):
    before = set(threading.enumerate())
    troubled.error = (1, error)
    writer = writing(troubled, [1])
    with pytest.raises(type(error), match=str(error)):
        writer.close()
    assert set(threading.enumerate()) <= before
