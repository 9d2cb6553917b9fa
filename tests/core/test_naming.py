"""Names and secrets in texts: found in every form of them, and told from others."""

import pytest

from mesa_memory.core.text.naming import name_key
from mesa_memory.core.text.redaction import REDACTED, scrub
from tests.support.single import table

OTHER = [("Ann", "Anne"), ("José", "Jose"), ("Jean-Luc", "Jeanluc"), ("Ada 1", "Ada 2")]


def test_two_forms_of_a_name_have_one_key():
    for one, other in table("letters")["names"]:
        assert name_key(one) == name_key(other)
        assert name_key(name_key(one)) == name_key(one)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_two_names_have_two_keys(one, other):
    assert name_key(one) != name_key(other)


# -- secrets that are given by name ----------------------------------------------------

NAMES = ("password", "passwd", "pwd", "api_key", "apikey", "access_token")
GIVEN = "q7Wf2Lr9Xc4Tz8"


@pytest.mark.parametrize("beside", ["", "In Zürich: ", "ſ "])
def test_a_secret_that_is_given_by_name_is_taken_out(beside):
    for name in [*NAMES, "client_secret"]:
        for write in [str.lower, str.upper, str.title]:
            text = f"{beside}the server was given {write(name)}='{GIVEN}' and said no"
            assert GIVEN not in scrub(text) and REDACTED in scrub(text)


def test_letters_that_are_the_same_to_a_search_hide_no_secret():
    assert GIVEN not in scrub(f"paſſword={GIVEN}")


def test_a_text_that_gives_nothing_stays_as_it_is():
    text = f"The monkey said that it keeps {GIVEN} under a keystone."
    assert scrub(text) == text
