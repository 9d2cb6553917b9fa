"""Classes, functions and values in what is recorded."""

from functools import partial

import pytest

from mesa_memory.core.arguments import full_name, readable
from tests.support.studied import Street


@pytest.mark.parametrize("module", ["__main__", "__mp_main__", "__worker__"])
def test_a_class_of_a_program_has_one_name_in_it_and_in_its_workers(module):
    town = type("Town", (), {"__module__": module})
    assert full_name(town) == "__main__.Town"


def test_what_has_no_name_of_its_own_has_that_of_its_class():
    assert full_name(Street) == "tests.support.studied.Street"
    assert full_name(partial(Street, n=3)) == "functools.partial"


def test_a_damaged_value_is_still_shown():
    for junk in (5, None, "x", [1]):
        assert readable({"$generator": junk}) == "[recorded state of None]"
        assert readable({"$number": junk}) in (junk, 5)
        assert readable({"$tuple": junk}) in (junk, (1,))
