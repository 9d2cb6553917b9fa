"""What calls are forecast to cost before they are sent is what they cost, within a fifteenth."""

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import LLMRejected, Services, STLTMemory, configure, route_reasoning
from mesa_memory.llm import LLMRequest
from mesa_memory.llm.cost import pricing
from mesa_memory.llm.cost.forecaster import Forecaster
from mesa_memory.llm.cost.price import Price
from mesa_memory.llm.cost.usage import Usage
from tests.support.openai_server import Behaviour, OpenAIServer, always

RULES = "The mill grinds on market days, and the bridge is closed at night. " * 70
#: name -> model, settings: the price of a token alone; cached ones for less; at half price
MODELS = {
    "plain": ("openai/gpt-4-turbo", {}),
    "cached": ("openai/gpt-5-mini", {}),
    "flex": ("openai/gpt-5-mini", {"service_tier": "flex"}),
}


class Neighbour(LLMAgent):
    def step(self):
        self.reasoning.plan(selected_tools=["speak_to"])
        others = [agent for agent in self.model.agents if agent is not self]
        self.send_message(
            f"On day {self.model.steps} I saw agent {self.unique_id} at the mill.",
            others,
        )


class Street(mesa.Model):
    def __init__(self, base, model, **services):
        super().__init__(rng=1)
        configure(self, execution="blocking", **services)
        for _ in range(4):
            agent = Neighbour(
                self, CoTReasoning, model, api_base=base, vision=-1,
                system_prompt=RULES, step_prompt="Live your day.",
            )  # fmt: skip
            agent.memory = STLTMemory(agent)
            route_reasoning(agent, block=5)

    def step(self):
        self.agents.do("step")


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    with OpenAIServer(caches=True) as server:
        yield server


@pytest.mark.parametrize("name", MODELS)
def test_dollars_forecast_and_counted_differ_by_at_most_a_fifteenth(name, server):
    model, options = MODELS[name]
    street = Street(server.base, model, options=options)
    for _ in range(12):
        street.step()
    Services.of(street).flush()
    ledger = Services.of(street).ledger
    counted, forecast = ledger.total, ledger.forecast
    assert counted.calls == forecast.calls > 100
    print(f"{name}: forecast ${forecast.cost:.5f}, counted ${counted.cost:.5f}")
    assert forecast.cost == pytest.approx(counted.cost, rel=1 / 15)
    price = pricing.price(model)
    whole = price.cost(counted.prompt_tokens, counted.completion_tokens)
    assert counted.cached_tokens > 0.5 * counted.prompt_tokens
    if name == "plain":
        assert price.cached is None
        assert counted.cost == pytest.approx(whole, rel=0.01)
    else:
        assert counted.cost < 0.7 * whole * (0.5 if name == "flex" else 1)


def request(prompt, model="openai/m"):
    return LLMRequest("think", 1, 1, "Be brief.", prompt, None, model=model)


def test_a_provider_that_caches_nothing_is_forecast_to_cache_nothing():
    forecaster, price = Forecaster(), Price(1.0, 1.0, cached=0.0)
    long = "All is well at the mill. " * 400
    for number in range(6):
        expected = forecaster.expect(request(long), price)
        assert (expected.cached_tokens > 0) == (number == 1), "learned at once"
        used = Usage(1, 1, expected.prompt_tokens, 10, 0.0)
        forecaster.learn(request(long), expected, used)


def test_replies_and_prompts_are_learned_by_model_and_purpose():
    forecaster = Forecaster()
    for _ in range(3):
        expected = forecaster.expect(request("x" * 400), None)
        forecaster.learn(request("x" * 400), expected, Usage(1, 1, 206, 40, None))
    expected = forecaster.expect(request("x" * 400), None)
    assert (expected.prompt_tokens, expected.completion_tokens) == (206, 40)
    assert expected.cost is None
    assert (
        forecaster.expect(request("x", "openai/other"), None).completion_tokens == 100
    )
    assert forecaster.expect(request("x"), None, max_tokens=7).completion_tokens == 7


def test_a_call_that_failed_is_not_forecast(server):
    server.behave = always(Behaviour.status(401))
    street = Street(server.base, "openai/gpt-5-mini", attempts=1)
    with pytest.raises(LLMRejected):
        street.step()
    ledger = Services.of(street).ledger
    assert ledger.total.failures == 1
    assert ledger.forecast == Usage()
