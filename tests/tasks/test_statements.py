"""What plain sentences state, by rules."""

from mesa_memory.tasks.offline.attributes import canonical, covers, related
from mesa_memory.tasks.offline.statements import statements
from tests.support.single import table

CASES = table("statements")


def stated(text):
    found = statements(text, "Eve")
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
