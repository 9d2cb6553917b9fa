"""While something wants it, Python's collector looks less often; then as before."""

import gc

import pytest
from mesa import Model

from mesa_memory import configure
from mesa_memory.core import gc_tuning
from mesa_memory.core.gc_tuning import COLLECT_EVERY, GarbageCollector

USUAL = (700, 10, 10)


@pytest.fixture
def collector(monkeypatch):
    before = gc.get_threshold()
    gc.set_threshold(*USUAL)
    own = GarbageCollector()
    monkeypatch.setattr(gc_tuning, "collector", own)
    yield own
    gc.set_threshold(*before)


def test_the_last_one_takes_it_back(collector):
    collector.look_less()
    collector.look_less()
    assert gc.get_threshold() == (COLLECT_EVERY, *USUAL[1:])
    collector.look_as_before()
    assert gc.get_threshold()[0] == COLLECT_EVERY
    collector.look_as_before()
    assert gc.get_threshold() == USUAL


@pytest.mark.parametrize("own", [0, COLLECT_EVERY * 2])
def test_a_collector_that_is_off_or_rarer_yet_stays_so(collector, own):
    gc.set_threshold(own, *USUAL[1:])
    collector.look_less()
    assert gc.get_threshold()[0] == own
    collector.look_as_before()
    assert gc.get_threshold()[0] == own


def test_what_somebody_else_sets_meanwhile_stays(collector):
    collector.look_less()
    gc.set_threshold(1234, 5, 6)
    collector.look_as_before()
    assert gc.get_threshold() == (1234, 5, 6)
    collector.look_less()
    assert gc.get_threshold()[0] == COLLECT_EVERY
    collector.look_as_before()
    assert gc.get_threshold() == (1234, 5, 6)


def test_while_a_model_steps_garbage_is_looked_for_less_often(collector):
    class Street(Model):
        def step(self):
            self.seen = gc.get_threshold()[0]

    street = Street()
    configure(street, llm="offline")
    street.step()
    assert (street.seen, gc.get_threshold()) == (COLLECT_EVERY, USUAL)


def test_a_step_that_fails_takes_it_back_too(collector):
    class Street(Model):
        def step(self):
            raise RuntimeError("no road")

    street = Street()
    configure(street, llm="offline")
    with pytest.raises(RuntimeError, match="no road"):
        street.step()
    assert gc.get_threshold() == USUAL
