"""A budget holds, whatever the provider says of what it used, one by one or side by side."""

import json

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import Budget, BudgetExceeded, LongTermMemory, Services, configure
from tests.support.behaviours import Behaviour, completion, default_answer
from tests.support.openai_server import OpenAIServer

PRICED = "openai/gpt-4o-mini"
STEPS = 40


class Neighbour(LLMAgent):
    """README's agent."""

    def step(self):
        others = [agent for agent in self.model.agents if agent is not self]
        self.send_message("The bridge is broken!", others)


class Street(mesa.Model):
    """README's model; each agent's memory asks the model once in each step."""

    def __init__(self, base, n=6, **services):
        super().__init__(rng=1)
        configure(self, **services)
        for _ in range(n):
            agent = Neighbour(self, CoTReasoning, PRICED, api_base=base)
            agent.memory = LongTermMemory(agent)

    def step(self):
        self.agents.shuffle_do("step")


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
    "null": None,
    "zero": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    "empty": {},
}


def sent_and_answered(received):
    """Tokens of a request and its reply, at four characters each."""
    return (received.chars + len(default_answer(received))) // 4


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    with OpenAIServer(latency=0.01) as server:
        yield server


@pytest.mark.parametrize("execution", ["blocking", "deferred"])
@pytest.mark.parametrize("usage", SAID)
@pytest.mark.parametrize(
    "budget",
    [Budget(tokens=3_000), Budget(calls=7), Budget(cost=0.0006)],
    ids=["tokens", "calls", "cost"],
)
def test_a_budget_is_crossed_by_at_most_one_request(usage, budget, execution, server):
    server.behave = saying(SAID[usage])
    street = Street(server.base, budget=budget, execution=execution)
    with pytest.raises(BudgetExceeded, match="would cross the budget"):
        for _ in range(STEPS):
            street.step()
            Services.of(street).flush()
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


def test_long_replies_side_by_side_cross_a_budget_by_at_most_one(server):
    long = json.dumps({"summary": "Bridge, mill and market. " * 120})
    server.behave = lambda _: Behaviour.text(long)
    street = Street(server.base, n=12, budget=Budget(tokens=8_000))
    with pytest.raises(BudgetExceeded):
        for _ in range(STEPS):
            street.step()
            Services.of(street).flush()
    largest = max(received.chars + len(long) for received in server.log) // 4
    assert Services.of(street).ledger.total.tokens <= 8_000 + 1.1 * largest


def test_a_budget_that_is_far_away_makes_no_request_wait(server):
    server.together = 3  # none is answered before there are so many
    street = Street(server.base, n=8, budget=Budget(tokens=1_000_000))
    street.step()
    Services.of(street).flush()
    assert server.in_flight_max > 2
