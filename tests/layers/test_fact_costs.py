"""The work of a step depends on the facts that hold, and a model is shown the right ones."""

import sys
from functools import partial
from statistics import median

import pytest

from mesa_memory import FactMemory
from tests.support.models import hear
from tests.support.single import scripted


def stated(request):
    """One fact for each message, as the message spells it."""
    facts = []
    for number, (*_, text) in enumerate(request.inputs["said"], 1):
        subject, attribute, value = text.split(": ")
        holds = not value.startswith("not ")
        facts.append(
            {
                "subject": subject,
                "attribute": attribute,
                "value": value.removeprefix("not "),
                "holds": holds,
                "several": attribute == "belongings",
                "sources": [number],
            }
        )
    return {"facts": facts}


RULES = {"extract": stated, "judge": {"decisions": []}}


class Life:
    """A memory of facts that change again and again."""

    def __init__(self, **given):
        self.memory, _ = scripted(partial(FactMemory, **given), RULES)

    def calls(self, *texts):
        """Lives a step in which these are heard; the number of function calls."""
        counted = [0]

        def count(frame, event, _):
            counted[0] += event in ("call", "c_call")

        self.memory.agent.model.steps += 1
        for text in texts:
            self.memory.add_to_memory("message", {"message": text, "sender": 2})
        sys.setprofile(count)
        try:
            self.memory.process_step()
            self.memory.get_prompt_ready()
        finally:
            sys.setprofile(None)
        return counted[0]


def moves(step):
    return f"Carl: home: house {step}"


def trades(step):
    thing = step // 2
    return f"Carl: belongings: {'not ' * (step % 2)}thing {thing}"


def meets(step):
    return f"Person {step}: mood: merry"


@pytest.mark.parametrize(
    ("happens", "given"),
    [
        (moves, {}),
        (moves, {"direct_tokens": 5}),
        (meets, {"max_facts": 5}),
        (trades, {"max_facts": 5}),
    ],
)
def test_a_step_does_not_go_through_facts_that_have_ended(happens, given):
    life = Life(**given)
    made = [life.calls(happens(step)) for step in range(1, 251)]
    # Not the most: finalizers of other tests' garbage are calls, too.
    early, late = median(made[50:100]), median(made[200:])
    assert late <= 1.1 * early, (early, late)


def test_all_that_ended_is_there_for_a_question_about_the_past():
    life = Life()
    for step in range(1, 51):
        life.calls(moves(step))
    assert [r.content["value"] for r in life.memory.facts()] == ["house 50"]
    assert [r.content["value"] for r in life.memory.facts(at=7)] == ["house 7"]
    assert len(life.memory.fact_history("Carl", "home")) == 50


# -- the known facts that a model is shown beside the events it reads ---------------------


def prompts_of(*steps):
    """The prompts of the requests for facts; each step hears (sender, text) pairs."""
    memory, llm = scripted(FactMemory, RULES)
    for step in steps:
        hear(memory, *step)
    return [request.prompt for request in llm.history if request.purpose == "extract"]


def test_a_subject_of_many_facts_hides_no_other_that_the_events_name():
    debt = (2, "Dov: debt: ten crowns")
    many = [(2, f"Ada: belongings: book {n}") for n in range(35)]
    later = [(2, f"Carl: belongings: cup {n}") for n in range(15)]
    *_, prompt = prompts_of([debt], many, later, [(3, "Ada: debt: what Dov owes")])
    known = prompt.partition("Known facts")[2].splitlines()
    assert any("Dov: debt: ten crowns" in line for line in known)
    assert sum("Ada: belongings" in line for line in known) >= 29
    assert any("Ada: belongings: book 34" in line for line in known)
