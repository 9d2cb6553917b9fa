"""The key of a name: one for all forms of it, another for another name."""

import unicodedata

import pytest

from mesa_memory.core.text.naming import name_key

SAME = [
    ("José", unicodedata.normalize("NFD", "José")),
    ("Nguyễn", unicodedata.normalize("NFD", "NGUYỄN")),
    ("한지민", unicodedata.normalize("NFD", "한지민")),
    ("O'Brien", "O\u2019Brien"),
    ("O'Brien", "O`Brien"),
    ("O'Brien", "O\u00b4Brien"),
    ("D'Angelo", "D\u02bcAngelo"),
    ("Jean-Luc", "Jean\u2010Luc"),
    ("Jean-Luc", "Jean\u2011Luc"),
    ("Jean-Luc", "Jean\u2013Luc"),
    ("Anna", "\uff21\uff4e\uff4e\uff41"),
    ("\u30a2\u30f3", "\uff71\uff9d"),
    ("ガス", "\uff76\uff9e\uff7d"),
    ("Ann Lee", "  ann\u00a0 LEE "),
    ("Ann", "A\u200bn\ufeffn"),
    ("Ann", "An\u00adn\u200e"),
    ("Weiß", "WEISS"),
    ("Weiß", "WEI\u1e9e"),
    ("Νίκος", "ΝΊΚΟΣ"),
    ("İpek", "ipek"),
    ("Işıl", "IŞIL"),
    ("Ilja", "ılja"),
    ("\ufb01nn", "Finn"),
]
OTHER = [("Ann", "Anne"), ("José", "Jose"), ("Jean-Luc", "Jeanluc"), ("Ada 1", "Ada 2")]


def test_two_forms_of_a_name_have_one_key():
    for one, other in SAME:
        assert name_key(one) == name_key(other)
        assert name_key(name_key(one)) == name_key(one)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_two_names_have_two_keys(one, other):
    assert name_key(one) != name_key(other)
