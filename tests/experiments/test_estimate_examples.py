"""What the models of README and tutorial will use is foretold from shorter pilots."""

import pytest

from mesa_memory import Services
from mesa_memory.experiments import estimate
from tests.support.examples import street, village

#: the forecast's pilots end before an episodic memory has filled
ALLOWED = 0.25


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
    rows = told.beside(services.ledger.total, as_records=True)
    for row in rows:
        if row["quantity"] in ("calls", "prompt_tokens", "completion_tokens"):
            assert row["counted"] > 0
            assert abs(row["difference"]) < ALLOWED, row
