"""Diffusion as Park et al. measured it: who knows, who is tied, and who makes things up."""

from mesa_memory import implant
from mesa_memory.examples.rumor.diffusion import MEASURES, DiffusionModel
from mesa_memory.examples.rumor.hearsay import CORRECTION, RUMOUR, SAYINGS


def played(steps, **given):
    town = DiffusionModel(**{"n_agents": 8, "memory": "stlt", "rng": 1} | given)
    for _ in range(steps):
        town.step()
    return town


def test_news_of_two_persons_spreads_and_all_that_is_claimed_was_told():
    town = played(6)
    found = {name: measure(town) for name, measure in MEASURES.items()}
    assert found["knows_rumour"] > 2 / 8 < found["knows_correction"]
    assert 0 < found["ties"] <= 1
    assert found["false_claims"] == 0
    known = {a for a, opinion in town.opinions.items() if opinion.knows(RUMOUR)}
    assert known <= town.told[RUMOUR]


def test_a_claim_to_know_what_nobody_told_is_false():
    town = played(0)
    assert MEASURES["false_claims"](town) == 0
    person = next(a for a in town.agents if a not in town.sources.values())
    implant(person, "news", {"text": f"News of day 1: {SAYINGS[CORRECTION]}."})
    assert person.unique_id not in town.told[CORRECTION]
    assert MEASURES["false_claims"](town) == 1
