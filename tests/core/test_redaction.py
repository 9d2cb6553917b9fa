"""Secrets that are given by name are found, however the name is written."""

import pytest

from mesa_memory.core.text.redaction import REDACTED, scrub

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
