"""Cached tokens and tiers: in replies, ledger, record, view and command."""

import mesa
import pytest
from click.testing import CliRunner
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import LongTermMemory, Services, configure, open_run
from mesa_memory.cli import main
from mesa_memory.llm.cost import pricing
from mesa_memory.runs.calls import KEYS
from mesa_memory.viz.data.requests import cost as viewed
from tests.support.openai_server import OpenAIServer

PRICED = "openai/gpt-5-mini"
#: so long that its prompt is worth caching
RULES = "The mill grinds on market days, and the bridge is closed at night. " * 90


class RuledMemory(LongTermMemory):
    """A memory whose requests begin with the rules of the town."""

    def system_for(self, task, inputs):
        return f"{RULES}\n{super().system_for(task, inputs)}"


class Neighbour(LLMAgent):
    def step(self):
        others = [agent for agent in self.model.agents if agent is not self]
        self.send_message("The bridge is broken!", others)


class Street(mesa.Model):
    def __init__(self, base=None, n=2, **services):
        super().__init__(rng=1)
        configure(self, **{"execution": "blocking"} | services)
        for _ in range(n):
            agent = Neighbour(self, CoTReasoning, PRICED, api_base=base)
            agent.memory = RuledMemory(agent)

    def step(self):
        self.agents.shuffle_do("step")


def lived(steps, **given):
    street = Street(**given)
    for _ in range(steps):
        street.step()
    Services.of(street).flush()
    return street


@pytest.fixture
def server():
    with OpenAIServer(caches=True) as server:
        yield server


@pytest.mark.parametrize("client", ["direct", "litellm"])
@pytest.mark.parametrize("tier", [None, "flex"])
def test_what_the_cache_and_the_tier_save_is_in_ledger_and_record(
    tier, client, server, tmp_path
):
    file = str(tmp_path / "run.sqlite")
    options = {"service_tier": tier} if tier else {}
    street = lived(3, base=server.base, record=file, options=options, client=client)
    Services.of(street).recorder.close()
    used = Services.of(street).ledger.total
    assert 0 < used.cached_tokens < used.prompt_tokens
    with open_run(file) as run:
        calls = run.calls(as_records=True)
        (total,) = run.cost((), as_records=True)
        assert viewed.spent(run).counts["tokens_cached"].sum() == used.cached_tokens
        for key in KEYS:
            sums = run.cost(key, as_records=True)
            assert sum(row["calls"] for row in sums) == total["calls"]
    assert {row["tier"] for row in calls} == {tier}
    assert {row["client"] for row in calls} == {client}
    assert not any(row["cached"] for row in calls)
    told = CliRunner().invoke(main, ["cost", file, "--by", "tier"])
    assert told.exit_code == 0 and "cached" in told.output, told.output
    assert Services.of(street).ledger.routes[PRICED].client == client
    assert total["tokens_cached"] == used.cached_tokens
    price = pricing.price(PRICED)
    for row in calls:
        tokens = (row["tokens_in"], row["tokens_out"], row["tokens_cached"])
        assert row["cost"] == pytest.approx(price.cost(*tokens, tier or ""))
    assert total["cost"] == pytest.approx(used.cost)
    whole = price.cost(used.prompt_tokens, used.completion_tokens)
    assert used.cost < 0.9 * whole * (0.5 if tier else 1)
