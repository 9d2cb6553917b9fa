"""What plain sentences state, by rules."""

from mesa_memory.tasks.offline.attributes import canonical, covers, related
from mesa_memory.tasks.offline.statements import statements


def stated(text):
    found = statements(text, "Eve")
    return [(s.subject, s.attribute, s.value, s.holds, s.changed) for s in found]


def test_a_negation_is_part_of_the_statement_and_not_of_a_name():
    cases = [
        (
            "Dana does not trust the miller.",
            ("Dana", "trusts", "the miller", False, False),
        ),
        ("Bob doesn’t need help", ("Bob", "needs", "help", False, False)),
        ("Carl never visits Dana.", ("Carl", "visits", "Dana", False, False)),
        ("Carl no longer works as a smith.", ("Carl", "work", "smith", False, True)),
        ("I do not fear Bob any more.", ("Eve", "fears", "Bob", False, True)),
        (
            "The boat doesn't belong to Dana.",
            ("the boat", "owner", "Dana", False, False),
        ),
        (
            "Ann isn't the mayor any longer.",
            ("the mayor", "holder", "Ann", False, True),
        ),
        (
            "Ann was not elected the mayor.",
            ("the mayor", "holder", "Ann", False, False),
        ),
        ("Carl has not moved to the inn.", ("Carl", "home", "the inn", False, False)),
        ("Carl has not lost the boat.", ("the boat", "owner", "Carl", True, False)),
        ("Carl's wife is not Dana.", ("Carl", "wife", "Dana", False, False)),
        ("Carl really likes no fish.", ("Carl", "likes", "fish", False, False)),
        (
            "Carl lives at the Never Inn.",
            ("Carl", "home", "the Never Inn", True, False),
        ),
        (
            "Bob likes people who do not lie.",
            ("Bob", "likes", "people who do not lie", True, False),
        ),
    ]
    for text, expected in cases:
        assert stated(text) == [expected]


def test_a_sentence_that_is_not_understood_states_nothing():
    cases = [
        "I don't think Carl lives at the mill.",
        "It is not true that Carl likes fish.",
        "Carl might like fish.",
        "Carl can't trust Dana.",
        "Bob hardly needs help.",
        "No one likes Carl.",
        "Neither Carl nor Dana likes fish.",
    ]
    for text in cases:
        assert stated(text) == []


def test_attributes_are_compared_by_their_names():
    cases = [
        ("Friends", "the friend", True, True, True),
        ("favourite food", "food", False, True, True),
        ("status", "condition", False, True, True),
        ("house colour", "house number", False, True, False),
        ("wife", "enemy", False, False, False),
        ("loves", "hates", False, False, False),
        ("sold by", "sold to", False, True, False),
    ]
    for one, other, same, may_mean, joined in cases:
        assert (canonical(one) == canonical(other)) == same
        assert related(one, other) == may_mean
        assert covers(one, other) == joined
