"""What plain sentences state, by rules."""

import pytest

from mesa_memory.tasks.offline.attributes import canonical, covers, related
from mesa_memory.tasks.offline.statements import Voices, statements
from tests.support.single import table

CASES = table("statements")


def stated(text):
    found = statements(text, Voices("Eve", "Ann"))
    return [(s.subject, s.attribute, s.value, s.holds, s.changed) for s in found]


def test_a_negation_is_part_of_the_statement_and_not_of_a_name():
    for text, expected in CASES["negations"]:
        assert stated(text) == [tuple(expected)]


def test_a_sentence_that_is_not_understood_states_nothing():
    for text in CASES["not understood"]:
        assert stated(text) == []


def test_attributes_are_compared_by_their_names():
    for one, other, same, may_mean, joined in CASES["attributes"]:
        assert (canonical(one) == canonical(other)) == same
        assert related(one, other) == may_mean
        assert covers(one, other) == joined


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("The well was poisoned, but is clean now.", [("the well", "state", "clean")]),
        ("Carl was at the mill and is at the inn now.", [("Carl", "place", "the inn")]),
        ("The boat was broken, and now is whole.", [("the boat", "state", "whole")]),
        ("Used walk: went to the mill", []),
        ("Did swim (to: the pier): came to the pier", []),
        ("Planned: Carl is at the mill", []),
    ],
)
def test_neither_what_is_over_nor_a_deed_s_label_is_stated(text, stated):
    found = [
        (s.subject, s.attribute, s.value)
        for s in statements(text, Voices("Eve", "Ann"))
    ]
    assert found == stated


@pytest.mark.parametrize(
    ("text", "stable"),
    [
        ("Ann sold the boat to Bob today.", True),
        ("Carl moved to the inn this morning.", True),
        ("Carl went to the inn tonight.", False),
        ("Bob is sad today.", False),
    ],
)
def test_a_deed_of_today_lasts_and_a_state_may_not(text, stable):
    assert [s.stable for s in statements(text, Voices("Eve", "Ann"))] == [stable]


@pytest.mark.parametrize(
    ("text", "listener", "stated"),
    [
        ("Your trait0 is wrong.", "Ann", [("Ann's trait0", "state", "wrong")]),
        ("Your vote is green.", "Ann", [("Ann", "vote", "green")]),
        ("I know that your boat is at the pier.", "Ann", [("Ann's boat", "place", "the pier")]),
        ("Carl lives in your house.", "Ann", [("Carl", "home", "Ann's house")]),
        ("Bob has lost your boat.", "Ann", [("Ann's boat", "owner", "Bob")]),
        ("Your trait0 is wrong.", "", []),
        ("Carl lives in your house.", "", []),
        ("My trait0 is wrong.", "Ann", [("Eve's trait0", "state", "wrong")]),
        ("Carl lives in my house.", "Ann", [("Carl", "home", "Eve's house")]),
        ("Bob trusts me.", "Ann", [("Bob", "trusts", "Eve")]),
        ("Bob trusts you.", "Ann", [("Bob", "trusts", "Ann")]),
        ("Bob trusts you.", "", []),
        ("Bob owes him ten crowns.", "Ann", []),
        ("You are welcome.", "Ann", []),
        ("Ann owes me ten crowns.", "Ann", [("Ann", "owes", "Eve ten crowns")]),
        ("Carl is at the inn with me.", "Ann", [("Carl", "place", "the inn with Eve")]),
        ("Carl visits you and my aunt.", "Ann", [("Carl", "visits", "Ann and Eve's aunt")]),
        ("Carl visits you and my aunt.", "", []),
        ("Bob trusts her.", "Ann", []),
        ("Our bridge is broken.", "Ann", []),
        ("Bob is our friend.", "Ann", []),
        ("Their boat is at the pier.", "Ann", []),
        ("His trait0 is wrong.", "Ann", []),
        ("Ann loves her dog.", "Ann", [("Ann", "loves", "her dog")]),
    ],
)  # fmt: skip
def test_a_possessive_is_that_of_a_person_known_or_states_nothing(
    text, listener, stated
):
    found = statements(text, Voices("Eve", listener))
    assert [(s.subject, s.attribute, s.value) for s in found] == stated
