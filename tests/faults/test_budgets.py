"""A budget holds, whatever the provider says of what it used, one by one or side by side."""

import json
from itertools import product

import pytest

from mesa_memory import Budget, BudgetExceeded, Services, configure
from tests.faults.test_waits import street_of
from tests.support.behaviours import Behaviour, completion, default_answer
from tests.support.openai_server import OpenAIServer, always
from tests.support.turns import in_turn

PRICED = "openai/gpt-4o-mini"
STEPS = 40


def saying(usage):
    """A server's behaviour: normal replies in which ``usage`` stands, or nothing."""

    def behave(received):
        body = json.loads(completion(received, default_answer(received)))
        if usage == "honest":
            return None
        if usage == "absent":
            del body["usage"]
        else:
            body["usage"] = usage
        return Behaviour.raw(json.dumps(body).encode())

    return behave


SAID = {
    "honest": "honest",
    "absent": "absent",
    "zero": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
}


def sent_and_answered(received):
    """Tokens of a request and its reply, at four characters each."""
    return (received.chars + len(default_answer(received))) // 4


@pytest.fixture
def server():
    with OpenAIServer(latency=0.01) as server:
        yield server


def live(street, steps=STEPS):
    """Some steps, each to the end of all work."""
    for _ in range(steps):
        street.step()
        Services.of(street).flush()


LIMITS = [
    (Budget(tokens=3_000), r"tokens \d+ of 3000"),
    (Budget(calls=7), "calls 8 of 7"),
    (Budget(cost=0.0006), r"cost [\d.e-]+ of 0.0006"),
]


@in_turn(case=[*product(SAID, LIMITS)], execution=["blocking", "deferred"])
def test_a_budget_is_crossed_by_at_most_one_request(case, execution, server):
    usage, (budget, reason) = case
    server.behave = saying(SAID[usage])
    street = street_of(server, 6, PRICED, budget=budget, execution=execution)
    with pytest.raises(
        BudgetExceeded, match=f"would cross the budget.*{reason}"
    ) as told:
        live(street)
    assert "Nothing was sent" in str(told.value)
    sizes = [sent_and_answered(received) for received in server.log]
    used = Services.of(street).ledger.total
    assert len(sizes) > 3, "the budget is there to be used"
    assert used.calls == len(sizes)
    if budget.tokens:
        assert sum(sizes) <= budget.tokens + max(sizes)
        assert used.tokens == pytest.approx(sum(sizes), rel=0.1)
    if budget.calls:
        assert len(sizes) == budget.calls
    if budget.cost:
        assert 0.3 * budget.cost < used.cost <= budget.cost + used.cost / used.calls
    with pytest.raises(BudgetExceeded):
        live(street, 2)
    assert len(server.log) == len(sizes)


def test_long_replies_side_by_side_cross_a_budget_by_at_most_one(server):
    long = json.dumps({"summary": "Bridge, mill and market. " * 120})
    server.behave = lambda _: Behaviour.text(long)
    street = street_of(server, 12, PRICED, budget=Budget(tokens=8_000))
    with pytest.raises(BudgetExceeded):
        live(street)
    largest = max(received.chars + len(long) for received in server.log) // 4
    assert Services.of(street).ledger.total.tokens <= 8_000 + 1.1 * largest


def test_a_budget_that_is_far_away_makes_no_request_wait(server):
    server.together = 3  # none is answered before there are so many
    street = street_of(server, 8, PRICED, budget=Budget(tokens=1_000_000))
    live(street, 1)
    assert server.in_flight_max > 2


def test_a_budget_that_is_set_later_counts_what_was_used_before(server):
    street = street_of(server, 1, PRICED)
    live(street, 5)
    used, sent = Services.of(street).ledger.total, server.requests
    configure(street, budget=Budget(tokens=used.tokens))
    with pytest.raises(BudgetExceeded, match=f"of {used.tokens}"):
        live(street)
    assert server.requests == sent == used.calls > 0


@pytest.mark.parametrize(
    ("model", "budget", "reason"),
    [
        (PRICED, Budget(calls=0), "calls 1 of 0"),
        ("openai/x", Budget(cost=5.0), "price of a call is unknown"),
    ],
)
def test_without_a_budget_or_a_price_nothing_is_sent(model, budget, reason, server):
    street = street_of(server, 1, model, budget=budget)
    with pytest.raises(BudgetExceeded, match=reason):
        live(street, 1)
    assert server.requests == 0


@pytest.mark.parametrize("execution", ["blocking", "deferred"])
def test_an_outage_does_not_use_up_a_budget_of_money(execution, server):
    given = {"execution": execution, "budget": Budget(cost=5.0), "backoff": 0.01}
    street = street_of(server, 1, PRICED, **given)
    server.behave = always(Behaviour.status(503))
    live(street, 1)
    server.behave = None
    live(street, 1)
    assert Services.of(street).ledger.total.failures == 1
