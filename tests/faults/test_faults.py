"""One agent's memory while its provider fails, and after it has recovered."""

import pytest

from mesa_memory import LLMError, LLMRejected, LLMUnavailable, MemoryStalled, configure
from tests.support import story
from tests.support.faults import (
    CURED,
    FAULTS,
    PENDING,
    REFUSAL,
    REJECTED,
    cases,
    each_memory,
)
from tests.support.fleet import HANGING, PURPOSE
from tests.support.openai_server import Behaviour, always
from tests.support.story import live, town_of
from tests.support.ways import way  # noqa: F401 - each test on both

shared, server = story.shared, story.server


def by_turns(what, found):
    """Runs a test with these (memory, what, execution, way)."""
    names = "memory", what, "execution", "way"
    return pytest.mark.parametrize(names, found, indirect=["way"])


def town_at(memory, server, execution, **services):
    """A town whose provider has worked for four steps."""
    town = town_of(memory, server, execution=execution, **services)
    live(town, 4)
    return town


def storm(town, server, behave, steps=2, **settings):
    """Steps with a provider that does not work; none asks more often than it may."""
    server.behave = behave
    usual = town.services.settings
    configure(town, **settings)
    for _ in range(steps):
        before = server.requests
        live(town, 1)
        assert server.requests - before <= town.most_requests()
    configure(town, timeout=usual.timeout, attempts=usual.attempts)


def thought(town):
    return town.thought()[1]


def due(town):
    return town.due(town.citizens[0])


def check_recovers(town, server, due_then=0):
    """Once the provider works again, nothing is lost and all is thought about."""
    server.behave = None
    town.check_nothing_lost()
    live(town, 1)
    assert due(town) == due_then
    town.check_nothing_lost()


@by_turns("fault", cases(CURED))
def test_a_fault_that_passes_leaves_no_trace(memory, fault, execution, server):
    town = town_at(memory, server, execution, attempts=5)
    before = thought(town)
    storm(town, server, FAULTS[fault].make())
    assert due(town) == 0
    assert thought(town) != before
    for text in (str(thought(town)), town.citizens[0].memory.get_prompt_ready()):
        assert not set(text) & {"\x00", "\x07", "\x1b", "\ud800"}
        assert "sorry" not in text
    town.check_nothing_lost()


@by_turns("fault", cases(PENDING))
def test_an_outage_leaves_the_work_waiting_and_loses_nothing(
    memory, fault, execution, server, caplog
):
    town = town_at(memory, server, execution)
    before = thought(town)
    hanging = HANGING if fault == "silent" else {}
    storm(town, server, FAULTS[fault].make(), **hanging)
    assert "kept and tried again at the next step (2 in a row)" in caplog.text
    assert due(town) > 0
    assert thought(town) == before
    assert REFUSAL not in town.citizens[0].memory.get_prompt_ready()
    check_recovers(town, server)
    assert thought(town) != before


@by_turns("fault", cases(REJECTED))
def test_a_refused_request_stops_the_run_typed_and_loses_nothing(
    memory, fault, execution, server
):
    town = town_at(memory, server, execution)
    before = thought(town)
    server.behave = FAULTS[fault].make()
    with pytest.raises(LLMRejected, match="refuses the request") as info:
        for _ in range(2):  # in deferred execution it shows at the next hook
            town.advance()
    error = info.value
    assert (error.agent, error.purpose) == (1, PURPOSE[memory])
    assert error.step == 5
    assert thought(town) == before
    check_recovers(town, server)


@by_turns("failures", each_memory([3]))
def test_too_many_steps_without_an_answer_stop_the_run(
    memory, failures, execution, server
):
    town = town_at(memory, server, execution, max_pending_steps=failures)
    server.behave = always(Behaviour.status(503))
    with pytest.raises(MemoryStalled) as info:
        for _ in range(4):
            town.advance()
    stalled = info.value
    assert (stalled.agent, stalled.purpose) == (1, PURPOSE[memory])
    assert (stalled.step, stalled.pending_steps) == (7, 3)
    assert isinstance(stalled.__cause__, LLMUnavailable)
    assert f"agent 1, step 7: {PURPOSE[memory]} has failed" in str(stalled)
    check_recovers(town, server)


@by_turns("text", each_memory(['{"nonsense": 1', None]))
def test_answers_that_cannot_be_used_stop_no_run(memory, text, execution, server):
    town = town_at(memory, server, execution, max_pending_steps=3)
    before = thought(town)
    server.behave = always(Behaviour.text(text))
    live(town, 6)
    assert thought(town) == before
    # What has got no grade in three steps stays without one.
    check_recovers(town, server, due_then=8 if memory == "episodic" else 0)
    assert thought(town) != before


@by_turns("status", each_memory([503]))
def test_a_step_that_works_starts_the_count_anew(memory, status, execution, server):
    town = town_at(memory, server, execution, max_pending_steps=3)
    for _ in range(3):
        storm(town, server, always(Behaviour.status(status)))
        server.behave = None
        live(town, 1)
    town.check_nothing_lost()


@by_turns("fault", each_memory(["500", "truncated"]))
def test_on_request_the_first_failure_stops_the_run(memory, fault, execution, server):
    town = town_at(memory, server, execution, on_failure="raise")
    server.behave = FAULTS[fault].make()
    with pytest.raises(MemoryStalled, match=r"has failed for 1 step\(s\)") as info:
        for _ in range(2):
            town.advance()
    assert info.value.step == 5
    assert isinstance(info.value.__cause__, LLMError)
    check_recovers(town, server)
