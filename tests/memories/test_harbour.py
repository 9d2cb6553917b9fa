"""A harbour replayed: what memories show of twelve facts is as it happened."""

import pytest

from mesa_memory.experiments.exam.items import ExamItem, Judge, Telling
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
#: facts of which a review of all memories found something false, by their place; what made
#: it so is repaired: talks before third agents, denials, repetitions and old summaries
FALSE_BEFORE = {
    "STLT": {1}, "Episodic": {1}, "Fact": {1, 2, 5, 6, 8, 10, 11},
    "Conversation": {4, 6, 8}, "Narrative": {1, 2},
}  # fmt: skip
#: facts that it found lost for somebody; only the story still loses one, another
LOST_BEFORE = {"STLT": {3}, "LongTerm": {3}, "Impression": {3, 7}, "Fact": {4}}
#: as items of an exam, by their place: the values of which a statement has all
VALUES = {
    2: ("3.60",), 3: ("day", "5", "ten"), 7: ("Bergen",), 8: ("watchman",),
    11: ("30", "June"), 12: ("boy",),
}  # fmt: skip


@pytest.mark.parametrize("memory", MEMORIES)
def test_an_exam_of_the_harbour_finds_the_facts_of_the_review(memory):
    """What the review found shown still is, and what it found false or lost is right."""
    harbour = Harbour(memory).live()
    found, names = table(harbour), list(FACTS)
    for (name, who), verdict_ in found.items():
        place = names.index(name) + 1
        lost = verdict_ == "-"
        assert not lost or name in LOST.get(memory, set()), (name, who)
        assert not lost or place not in LOST_BEFORE.get(memory, set())
        if place in FALSE_BEFORE.get(memory, set()):
            assert verdict_ in ("V", "S"), (name, who)
        if place in VALUES:
            told = (Telling(1, 0, ""),)
            item = ExamItem("fact", "", 1, told, "", (), (VALUES[place],))
            shown = Judge([item]).shown(item, harbour.shown[who][0])
            assert (shown == "right") is not lost, (name, who)


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
