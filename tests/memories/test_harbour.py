"""A harbour replayed: what memories show of twelve facts is as it happened."""

import pytest

from tests.support.harbour import MEMORIES, Harbour
from tests.support.planted import FACTS, lines_of, table, verdict, wrongly_heard

DEBT, PRICE, LOCK, LITRES = (
    "the debt is paid in two parts",
    "cod is at 3.60 since day 5",
    "the fuel store was not locked",
    "240 litres became 180",
)
#: what a summary of few sentences may drop, once it is past
LOST = {"Narrative": {"the meeting is on day 5 at ten"}}


@pytest.mark.parametrize("memory", MEMORIES)
def test_no_planted_fact_is_shown_false(memory):
    """Neither out of date, nor before somebody who did not hear it, nor made up."""
    harbour = Harbour(memory).live()
    found = table(harbour)
    assert not {key: text for key, text in found.items() if text.startswith("!")}
    lost = {fact for (fact, _), text in found.items() if text == "-"}
    assert lost <= LOST.get(memory, set())
    assert not wrongly_heard(harbour)


@pytest.mark.parametrize(
    "fact, who, shown",
    [
        (DEBT, "Tove", "Long term memory:\nJonas still owes her 120."),
        (
            DEBT,
            "Jonas",
            "Most important memories:\nStep 8:\n- reflection: still owes 120.",
        ),
        (PRICE, "Jon", "What is known:\n- cod: price: 4.20 (said by Ines, step 1)"),
        (LOCK, "Tove", "Conversation with Jonas and Jon:\n- Step 6: Jon to you: LIE"),
        (LITRES, "Tove", "- fuel store: litres: 240 — but: 180 — they disagree"),
    ],
)
def test_what_is_false_is_found(fact, who, shown):
    """In each kind of text that memories show."""
    harbour = Harbour("Fact")
    lie = "I never locked the fuel store"
    harbour.heard[lie] = {"Jon", "Tove"}
    text = shown.replace("LIE", lie)
    assert verdict(FACTS[fact], who, text, harbour, 8).startswith("!")


def test_what_was_so_until_a_step_is_not_false():
    """A heading, a step or the line itself says so; talks of two stay with them."""
    harbour = Harbour("Fact")
    harbour.heard["I never locked the fuel store"] = {"Jon", "Tove"}
    for shown in (
        "Long term memory (until step 5):\nJonas still owes her 120.",
        "Step 5:\n- reflection: Jonas still owes her 120.",
        "Conversations before:\n- Steps 1 to 5, with Jonas: he still owes me 120.",
    ):
        assert verdict(FACTS[DEBT], "Tove", shown, harbour, 8) == "S", list(
            lines_of(shown)
        )
    talk = "Conversation with Jon:\n- Step 6: Jon to you: I never locked the fuel store"
    assert verdict(FACTS[LOCK], "Tove", talk, harbour, 8) == "V"
