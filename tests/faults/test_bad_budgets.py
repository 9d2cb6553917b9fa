"""A budget stops a run before it is crossed; nothing is forgotten."""

import pytest

from mesa_memory import Budget, BudgetExceeded
from tests.support import story
from tests.support.fleet import ASKING, EXECUTIONS
from tests.support.network import elsewhere  # noqa: F401 - guards every test here
from tests.support.openai_server import Behaviour, always
from tests.support.story import live, town_of

shared, server = story.shared, story.server
every_memory = pytest.mark.parametrize("memory", ASKING)
in_both_executions = pytest.mark.parametrize("execution", EXECUTIONS)
PRICED = "openai/gpt-4o-mini"


def check_used(town, server, budget):
    """What was used is what was sent, and within the budget."""
    used = town.services.ledger.total
    assert used.calls == server.requests
    for name in ("calls", "tokens", "cost"):
        limit = getattr(budget, name)
        assert limit is None or getattr(used, name) <= limit


@every_memory
@in_both_executions
@pytest.mark.parametrize(
    ("budget", "reason"),
    [
        (Budget(calls=2), "calls 3 of 2"),
        (Budget(tokens=900), r"tokens \d+ of 900"),
        (Budget(cost=0.0003), r"cost [\d.e-]+ of 0.0003"),
        (Budget(calls=0), "calls 1 of 0"),
    ],
    ids=["calls", "tokens", "cost", "nothing"],
)
def test_a_budget_stops_the_run_before_it_is_crossed(
    memory, execution, budget, reason, server
):
    # Only with a limit is it known beforehand what a reply may cost.
    given = {"execution": execution, "budget": budget, "max_tokens": 200}
    town = town_of(memory, server, **given)
    for citizen in town.citizens:
        citizen.llm.llm_model = PRICED
    with pytest.raises(BudgetExceeded, match=reason) as info:
        live(town, 30)
    assert "Nothing was sent" in str(info.value)
    check_used(town, server, budget)
    sent = server.requests
    with pytest.raises(BudgetExceeded):
        live(town, 2)
    # Of several layers, one may ask for something that is still affordable.
    assert server.requests == sent or memory == "layered"
    check_used(town, server, budget)
    town.services.ledger.budget = Budget()
    town.check_nothing_lost()
    live(town, 1)
    assert town.due(town.citizens[0]) == 0
    town.check_nothing_lost()


def test_a_budget_of_money_needs_a_known_price(server):
    town = town_of("long_term", server, budget=Budget(cost=5.0))
    with pytest.raises(BudgetExceeded, match="price of a call is unknown"):
        live(town, 1)
    assert server.requests == 0
    town.check_nothing_lost()


@in_both_executions
def test_an_outage_does_not_use_up_a_budget_of_money(execution, server):
    town = town_of("long_term", server, execution=execution, budget=Budget(cost=5.0))
    town.citizens[0].llm.llm_model = PRICED
    server.behave = always(Behaviour.status(503))
    live(town, 1)
    server.behave = None
    live(town, 1)
    assert town.services.ledger.total.failures == 1
