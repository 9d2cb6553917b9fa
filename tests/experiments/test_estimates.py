"""What runs will cost is known beforehand, and nothing is sent for it."""

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent

from benchmarks.estimates import ALLOWED, compared
from mesa_memory import LongTermMemory, Services, STLTMemory, configure
from mesa_memory.core.content import dollars
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.experiments import Study, estimate
from mesa_memory.llm.prices import Price
from tests.support.examples import street, village
from tests.support.single import settle

TOWN = {"n_agents": 12, "memory": "stlt"}


def played(steps, **given):
    town = RumorModel(**{"rng": 4} | given)
    for _ in range(steps):
        town.step()
    services = Services.of(town)
    services.flush()
    if services.recorder is not None:
        services.recorder.close()
    return services.ledger.total


def errors(told, used):
    """Each quantity of a forecast by the count of a run, less 1."""
    rows = told.purposes(as_records=True)
    names = ("calls", "prompt_tokens", "completion_tokens")
    return {n: sum(row[n] for row in rows) / getattr(used, n) - 1 for n in names}


@pytest.mark.slow
@pytest.mark.parametrize("memory", ["stlt", "fact"])
def test_a_run_longer_and_larger_than_the_pilots_is_forecast_within_15_percent(memory):
    given = {"n_agents": 20, "memory": memory}
    told = estimate(RumorModel, given, steps=70, effort=1300)
    assert all(agents < 20 and steps < 70 for agents, steps in told.pilots)
    found = errors(told, played(70, **given))
    assert max(map(abs, found.values())) < 0.15, found


@pytest.mark.parametrize("model", [street, village])
@pytest.mark.parametrize(
    "memory", ["short_term", pytest.param("episodic", marks=pytest.mark.slow)]
)
def test_calls_and_tokens_of_an_example_are_within_25_percent(model, memory):
    given, steps = {"n": 24, "memory": memory}, 48
    told = estimate(model, given, steps=steps, effort=400)
    assert sum(agents * length for agents, length in told.pilots) < 0.4 * 24 * steps
    played = model(**given, rng=9)
    for _ in range(steps):
        played.step()
    services = Services.of(played)
    services.flush()
    found = errors(told, services.ledger.total)
    assert max(map(abs, found.values())) < 0.25, found


def test_the_benchmark_counts_all_that_a_run_asks():
    row = compared(("rumor", "short_term", 0), agents=6, steps=12, effort=400)
    off = {name: value for name, value in row.items() if name.endswith("_%")}
    assert off and max(map(abs, off.values())) < 100 * ALLOWED, off


def test_a_run_as_short_as_a_pilot_is_counted_whole():
    used = played(6, **TOWN)
    told = estimate(RumorModel, TOWN, steps=6, seed=4)
    assert told.pilots == ((12, 6), (12, 6))
    assert used.calls in (told.calls.low, told.calls.high)


def test_prices_are_by_model_cache_and_number_of_runs():
    cheap = Price(1e-6, 2e-6, cached=5e-7)
    told = estimate(
        RumorModel,
        TOWN,
        steps=6,
        runs=3,
        llm=["own/cheap", "own/unknown"],
        cached=0.5,
        prices={"own/cheap": cheap},
    )
    rows = told.costs(as_records=True)
    assert [row["model"] for row in rows] == ["own/cheap", "own/unknown"]
    plain, unknown = rows
    prompt, said = plain["prompt_tokens"], plain["completion_tokens"]
    assert plain["cached_tokens"] == pytest.approx(prompt / 2, abs=2)
    assert plain["cost"] == pytest.approx(prompt * 0.75e-6 + said * 2e-6, rel=0.01)
    assert plain["cost_low"] < plain["cost"] < plain["cost_high"]
    assert unknown["cost"] is None
    once = estimate(RumorModel, TOWN, steps=6)
    assert told.calls.value == 3 * once.calls.value


def test_replies_can_be_as_long_as_the_user_knows_them_to_be():
    told = estimate(RumorModel, TOWN, steps=6, replies={"reasoning": 250})
    rows = {row["purpose"]: row for row in told.purposes(as_records=True)}
    assert rows["reasoning"]["completion_tokens"] == 250 * rows["reasoning"]["calls"]


class Neighbour(LLMAgent):
    def step(self):
        self.reasoning.plan(prompt="What now?")


class Street(mesa.Model):
    """Configured for a provider, as a user has it who is about to pay."""

    def __init__(self, n_agents=3, record=None, rng=None):
        super().__init__(rng=rng)
        configure(self, llm="openai/gpt-5-mini", record=record, attempts=1)
        settle(self, STLTMemory, n_agents, Neighbour, "openai/gpt-5-mini")

    def step(self):
        self.agents.do("step")


def test_nothing_is_sent_or_recorded_for_an_estimate(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    file = tmp_path / "run.sqlite"
    told = estimate(Street, {"record": file}, steps=4, llm="openai/gpt-5-mini")
    assert not file.exists()
    rows = {row["purpose"]: row for row in told.purposes(as_records=True)}
    assert rows["reasoning"]["calls"] >= 3 * 4
    assert told.costs(as_records=True)[0]["cost"] > 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"steps": 0}, "steps must be >= 1"),
        ({"cached": 2}, "a share from 0 to 1"),
        ({"runs": 0}, "runs must be >= 1"),
        ({"replies": {"reasoning": -1}}, "replies"),
    ],
)
def test_a_wrong_number_is_refused(given, said):
    with pytest.raises(ValueError, match=said):
        estimate(RumorModel, TOWN, **{"steps": 2} | given)


class Quiet(mesa.Model):
    def __init__(self, rng=None):
        super().__init__(rng=rng)
        agent = mesa.Agent(self)
        agent.memory = LongTermMemory(agent)


def test_a_model_that_asks_nothing_costs_nothing():
    told = estimate(Quiet, steps=50, llm="openai/gpt-5-mini")
    assert told.calls.value == 0
    assert told.costs(as_records=True)[0]["cost"] == 0


def test_the_forecast_of_a_study_is_printed_as_a_table_with_a_total(tmp_path):
    found = Study(
        RumorModel, {"memory": ["stlt", "episodic"], "n_agents": 4}, seeds=range(3),
        steps=4, store=tmp_path / "study.sqlite",
    ).estimate("openai/gpt-5-mini")  # fmt: skip
    common, *rows, last = str(found).splitlines()
    assert common == "n_agents: 4" and "n_agents" not in rows[0]
    assert len(rows) == 3 and "openai/gpt-5-mini" in rows[1]
    total = found.total
    assert last == (
        f"total of 6 runs: {total['calls']:,} calls, {total['tokens']:,} tokens, "
        f"cost ${dollars(total['cost'])}"
    )
