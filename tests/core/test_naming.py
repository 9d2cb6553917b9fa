"""The key of a name: one for all forms of it, another for another name."""

import pytest

from mesa_memory.core.text.naming import name_key
from tests.support.single import table

OTHER = [("Ann", "Anne"), ("José", "Jose"), ("Jean-Luc", "Jeanluc"), ("Ada 1", "Ada 2")]


def test_two_forms_of_a_name_have_one_key():
    for one, other in table("letters")["names"]:
        assert name_key(one) == name_key(other)
        assert name_key(name_key(one)) == name_key(one)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_two_names_have_two_keys(one, other):
    assert name_key(one) != name_key(other)
