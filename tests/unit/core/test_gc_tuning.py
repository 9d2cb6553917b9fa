"""While something wants it, Python's collector looks less often; then as before."""

import gc
import weakref

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


class Street(Model):
    """Notes what it sees in a step."""

    seen, rough = 0, False

    def step(self):
        self.seen = gc.get_threshold()[0]
        if self.rough:
            raise RuntimeError("no road")


def test_from_its_first_step_until_a_model_is_gone(collector):
    streets = [Street(), Street()]
    for street in streets:
        configure(street, llm="offline")
        assert street.seen == 0
        for _ in range(3):
            street.step()
        assert street.seen == gc.get_threshold()[0] == COLLECT_EVERY
    del street
    while streets:
        assert gc.get_threshold()[0] == COLLECT_EVERY
        streets.pop()
        gc.collect()
    assert gc.get_threshold() == USUAL


def test_a_model_whose_step_fails_is_let_go_of_too(collector):
    street = Street()
    street.rough = True
    configure(street, llm="offline")
    with pytest.raises(RuntimeError, match="no road"):
        street.step()
    assert street.seen == COLLECT_EVERY
    del street
    gc.collect()
    assert gc.get_threshold() == USUAL


def test_models_that_are_done_with_are_still_collected(collector):
    """They refer to themselves, so nothing but the collector ends them."""
    gone = []
    for _ in range(40):
        street = Street()
        street.houses = [[street] for _ in range(10_000)]
        configure(street, llm="offline")
        street.step()
        weakref.finalize(street, gone.append, None)
    assert len(gone) > 20
