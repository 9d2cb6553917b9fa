"""Gathered flows go each at its own pace, and end alike in whatever order replies come."""

import asyncio

import pytest

from mesa_memory import (
    EpisodicMemory,
    LLMUnavailable,
    MemoryStalled,
    Services,
    configure,
)
from mesa_memory.core.requests import (
    AcquireShared,
    AwaitShared,
    PublishShared,
    first_fault,
    gather,
)
from mesa_memory.errors import EmbedderError
from mesa_memory.llm import LLMRequest
from tests.support.models import citizen, live, said
from tests.support.single import Asked, Late
from tests.support.stored import rows
from tests.support.turns import in_turn
from tests.support.waiting import HUNG


class Gathering(EpisodicMemory):
    """Runs what a test gives it, side by side."""

    flows = staticmethod(lambda memory: [])
    outcomes = None
    restored = ("outcomes",)

    def remember(self, view):
        self.outcomes = yield from gather(self.flows(self))
        if fault := first_fault(self.outcomes):
            raise fault


def gathering(flows, llm, execution, **services):
    agent = citizen()
    configure(agent.model, llm=llm, execution=execution, **services)
    agent.memory = Gathering(agent)
    agent.memory.flows = flows
    return agent.memory


def thought(memory):
    """One step with one event, joined."""
    live(memory, said("The bridge is broken!"))
    Services.of(memory.agent.model).flush()
    return memory.outcomes


def grading(memory):
    """Two flows that grade the same event."""
    grader, (event,) = memory.layers[0].grader, memory.current_records()
    view = memory.view()
    return [grader.grade(view, [event]) for _ in range(2)]


@in_turn(execution=["blocking", "deferred"], llm=[Late, Asked])
def test_two_flows_that_grade_the_same_event_ask_once(llm, execution):
    asked = llm()
    first, second = thought(gathering(grading, asked, execution))
    assert first.grades == second.grades == {0: 3}
    assert len(asked.asked) == 1


def request(memory, purpose, inputs):
    agent = memory.agent
    return LLMRequest(purpose, agent.unique_id, agent.model.steps, "", "", None, inputs)


def asking(memory, count, purpose="grade"):
    def flow():
        for _ in range(count):
            inputs = {"events": [("message", "Hello!")], "top": 5}
            yield request(memory, purpose, inputs)
        return count

    return flow()


def test_a_flow_of_several_requests_does_not_wait_for_a_slow_one():
    finished = []
    others = asyncio.Event()

    class Paced(Late):
        async def acomplete(self, request):
            if request.purpose == "questions":
                await asyncio.wait_for(others.wait(), HUNG)
            finished.append(request.purpose)
            if len(finished) == 3:
                others.set()
            return self.model.complete(request)

    def flows(memory):
        return [asking(memory, 3), failing(memory)]

    def failing(memory):
        yield request(memory, "questions", {"lines": ["a"], "count": 1, "held": []})

    memory = gathering(flows, Paced(), "deferred")
    assert thought(memory)[0] == 3
    assert finished == ["grade"] * 3 + ["questions"]


@in_turn(execution=["blocking", "deferred"], llm=[Late, Asked])
def test_a_passing_error_of_any_kind_ends_only_its_own_flow(llm, execution):
    def flows(memory):
        return [broken(EmbedderError("gone", passing=True)), asking(memory, 2),
                broken(LLMUnavailable("down"))]  # fmt: skip

    def broken(error):
        raise error
        yield

    memory = gathering(flows, llm(), execution, max_pending_steps=2)
    embedder, count, model = thought(memory)
    assert isinstance(embedder, EmbedderError)
    assert isinstance(model, LLMUnavailable)
    assert count == 2
    with pytest.raises(MemoryStalled):
        thought(memory)


@in_turn(execution=["blocking", "deferred"], llm=[Late, Asked])
def test_a_bug_in_one_flow_is_raised_as_it_is(llm, execution):
    def flows(memory):
        def buggy():
            raise ZeroDivisionError("a bug")
            yield

        return [asking(memory, 2), buggy()]

    with pytest.raises(ZeroDivisionError, match="a bug"):
        thought(gathering(flows, llm(), execution))


def test_what_waiting_cannot_cure_is_raised_first():
    cures = [None, LLMUnavailable("down"), EmbedderError("no such model")]
    assert first_fault(cures) is cures[2]
    assert first_fault(cures[:2]) is cures[1]
    assert first_fault([1, None]) is None


@in_turn(execution=["blocking", "deferred"], llm=[Late, Asked])
def test_flows_that_hold_what_the_other_waits_for_both_end(llm, execution):
    def holding(mine, other):
        yield AcquireShared((mine,))
        claimed = yield AcquireShared((other,))
        found = claimed.known.get(other)
        for key in claimed.others:
            found = yield AwaitShared(key)
        yield PublishShared({mine: mine})
        return found

    def flows(_):
        return [holding("a", "b"), holding("b", "a")]

    assert len(thought(gathering(flows, llm(), execution))) == 2


@pytest.mark.parametrize("execution", ["blocking", "deferred"])
def test_a_claim_of_a_flow_that_failed_is_free_while_its_siblings_go_on(execution):
    def failing(memory):
        yield AcquireShared(("key",))
        yield from asking(memory, 1)
        raise LLMUnavailable("down")

    def waiting(_):
        claimed = yield AcquireShared(("key",))
        assert claimed.others == ["key"]
        answer = yield AwaitShared("key")
        claimed = yield AcquireShared(("key",))
        return answer, claimed.ours

    def flows(memory):
        return [failing(memory), waiting(memory)]

    memory = gathering(flows, Late(longest=0.3), execution)  # the other one begins
    assert thought(memory)[1] == (None, ["key"])


def recorded(seed, execution):
    """The calls of a run in which several flows ask several times."""

    def flows(memory):
        def nested(count):
            return (yield from gather([asking(memory, count), asking(memory, 1)]))

        return [asking(memory, 2), nested(2), asking(memory, 1), nested(1)]

    memory = gathering(flows, Late(seed), execution, record=True)
    for _ in range(3):
        thought(memory)
    recorder = Services.of(memory.agent.model).recorder
    recorder.close()
    kept = ("step", "agent", "purpose", "occurrence", "prompt_hash")
    return [tuple(row[name] for name in kept) for row in rows(recorder.store, "calls")]


def test_calls_are_recorded_in_one_order_whatever_order_their_replies_come_in():
    expected = recorded(0, "blocking")
    assert len(expected) == 3 * 8
    assert len(set(expected)) == len(expected)
    for seed in range(1, 4):
        for execution in ("blocking", "deferred"):
            assert recorded(seed, execution) == expected
