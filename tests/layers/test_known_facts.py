"""The known facts that a model is shown beside the events it reads."""

from mesa_memory import FactMemory
from tests.layers.test_fact_costs import stated
from tests.support.models import hear
from tests.support.single import scripted


def prompts_of(*steps):
    """The prompts of the requests for facts; each step hears (sender, text) pairs."""
    rules = {"extract": stated, "judge": {"decisions": []}}
    memory, llm = scripted(FactMemory, rules)
    for step in steps:
        hear(memory, *step)
    return [request.prompt for request in llm.history if request.purpose == "extract"]


def test_rival_claims_are_shown_with_their_speakers():
    claims = [(2, "Carl: home: the mill"), (3, "Carl: home: the inn")]
    *_, prompt = prompts_of(claims, [(4, "Carl: mood: sad")])
    assert "2. Carl: home: the mill (Agent 2)\n" in prompt
    assert "3. Carl: home: the inn (Agent 3)\n" in prompt


def test_a_subject_of_many_facts_hides_no_other_that_the_events_name():
    debt = (2, "Dov: debt: ten crowns")
    many = [(2, f"Ada: belongings: book {n}") for n in range(35)]
    later = [(2, f"Carl: belongings: cup {n}") for n in range(15)]
    *_, prompt = prompts_of([debt], many, later, [(3, "Ada: debt: what Dov owes")])
    known = prompt.partition("Known facts")[2].splitlines()
    assert any("Dov: debt: ten crowns" in line for line in known)
    assert sum("Ada: belongings" in line for line in known) == 29
    assert any("Ada: belongings: book 34" in line for line in known)
