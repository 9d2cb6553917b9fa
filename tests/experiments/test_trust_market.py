"""The market of trust: it is the content of memories that carries cooperation."""

import pytest

from mesa_memory import resume
from mesa_memory.examples.naming_game.model import NamingGame
from mesa_memory.examples.trust_market.model import TrustMarket
from mesa_memory.experiments import Study
from tests.support.playing import lived, play

PLACEBOS = [
    f"placebo:{kind}:short_term" for kind in ("neutral", "scrambled", "shuffled")
]


def cooperation(model):
    """The share of requests that were granted in the last season."""
    return model.cooperation


def study(tmp_path, memories, seeds, steps=40):
    return Study(
        TrustMarket, {"memory": memories}, seeds=range(seeds), steps=steps,
        outcomes={"cooperation": cooperation}, store=tmp_path / "market.sqlite",
        record=False,
    )  # fmt: skip


@pytest.mark.slow
def test_content_and_not_length_or_order_carries_cooperation(tmp_path):
    found = study(tmp_path, ["none", "short_term", *PLACEBOS], 12)
    found.run(2, progress=False)
    against_none = found.compare(base="none", margin=0.2)
    table = against_none.table().set_index("arm")
    memory = table.loc["short_term"]
    assert memory["difference"] >= 0.5 and memory["low"] >= 0.4
    for kind in ("neutral", "scrambled"):
        arm = f"placebo:{kind}:short_term"
        equal = f"{arm}: equal to none in all 12 seeds" in str(against_none)
        assert equal or table.loc[arm, "p_equivalent"] < 0.05
    told = str(found.compare(base="short_term"))
    assert "placebo:shuffled:short_term: equal to short_term in all 12 seeds" in told


@pytest.mark.parametrize(
    ("world", "given", "last"),
    [
        (TrustMarket, {"n_agents": 8, "side": 4}, 20),
        (NamingGame, {"network": "min_mean_clustering", "depth": 5}, 12),
    ],
)
def test_a_world_of_the_examples_goes_on_from_a_checkpoint(
    world, given, last, tmp_path
):
    file = tmp_path / "run.sqlite"
    whole = lived(world(**given, rng=3), last)
    play(world(**given, rng=3, record=file), last - 5)
    parts = resume(world, file)
    play(parts, last - parts.steps)
    assert parts.get_state() == whole.get_state()
    if world is TrustMarket:
        kept = whole.datacollector.model_vars["cooperation"]
        assert parts.datacollector.model_vars["cooperation"] == kept


def test_traders_that_hear_nothing_know_their_own_experience_alone(tmp_path):
    alone = TrustMarket(n_agents=12, side=4, gossip=False, rng=1)
    for _ in range(6):
        alone.step()
    for trader in alone.agents:
        deeds = [
            line
            for line in trader.memory.get_prompt_ready().split("\n")
            if "On day" in line
        ]
        assert all(trader.name in line for line in deeds)
