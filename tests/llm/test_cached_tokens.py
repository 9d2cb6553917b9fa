"""Cached tokens and tiers: in replies, ledger, record, view and command."""

import pytest
from click.testing import CliRunner

from mesa_memory import LongTermMemory, Services, open_run
from mesa_memory.cli import main
from mesa_memory.llm import prices as pricing
from mesa_memory.runs.queries import KEYS
from mesa_memory.viz.views import cost as viewed
from tests.support.openai_server import OpenAIServer
from tests.support.playing import ended, lived
from tests.support.street import Street

PRICED = "openai/gpt-5-mini"
#: so long that its prompt is worth caching
RULES = "The mill grinds on market days, and the bridge is closed at night. " * 90


class RuledMemory(LongTermMemory):
    """A memory whose requests begin with the rules of the town."""

    def system_for(self, task, inputs):
        return f"{RULES}\n{super().system_for(task, inputs)}"


@pytest.fixture
def server():
    with OpenAIServer(caches=True) as server:
        yield server


@pytest.mark.parametrize(("client", "tier"), [("direct", "flex"), ("litellm", None)])
def test_what_the_cache_and_the_tier_save_is_in_ledger_and_record(
    tier, client, server, tmp_path
):
    file = str(tmp_path / "run.sqlite")
    options = {"service_tier": tier} if tier else {}
    street = Street(
        file, 2, RuledMemory, name=PRICED, base=server.base, llm=None,
        execution="blocking", options=options, client=client,
    )  # fmt: skip
    ended(lived(street, 3))
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
