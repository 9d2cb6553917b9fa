"""What a question says of the time that it asks about."""

import math

import pytest

from mesa_memory.retrieval.query import CACHED_QUERY_CHARS, TimeConstraint
from tests.support.single import table

CASES = table("time_questions")


def test_a_step_is_read_and_left_out_of_what_is_embedded():
    for query, body, step in CASES["steps"]:
        cues = TimeConstraint.of(query)
        assert (cues.body, cues.step, cues.present) == (body, step, False)
        assert cues.before == ()


def test_the_present_is_read():
    for when in CASES["present"]:
        cues = TimeConstraint.of(f"Where does Ann live {when}?")
        assert cues.present
        assert cues.body == "Where does Ann live ?"


def test_without_words_of_time_a_question_is_taken_as_it_is():
    for query in CASES["none"]:
        assert TimeConstraint.of(query) == TimeConstraint.none(query)
        assert TimeConstraint.of(query).body == query


def test_what_ended_the_time_asked_for_is_neither_embedded_nor_looked_for():
    for query, body, before in CASES["before"]:
        cues = TimeConstraint.of(query)
        assert (cues.body, " ".join(cues.before)) == (body, before)
        assert not set(cues.said) & {"mill", "moved"}


def test_before_needs_something_asked_and_something_that_ended_it():
    met, mill = "Did you meet Ann before?", "What was before the mill?"
    for query in (met, mill, "before", "Until Ann, who?"):
        cues = TimeConstraint.of(query)
        assert (cues.before, cues.body) == ((), query)


def test_a_step_that_is_named_goes_before_what_ended_the_time():
    cues = TimeConstraint.of("At step 40, what did Ann do before supper?")
    assert (cues.step, cues.before) == (40, ())
    assert "supper" in cues.said
    assert cues.body == ", what did Ann do before supper?"


@pytest.mark.parametrize("query", ["now", "step 40", "At step 40?", "Now, these days!"])
def test_a_question_of_nothing_but_words_of_time_is_embedded_whole(query):
    cues = TimeConstraint.of(query)
    assert cues.body == query
    assert cues.present or cues.step == 40


def test_the_words_of_a_step_are_still_looked_for():
    assert TimeConstraint.of("What did Ann say at step 40?").said[-2:] == ("step", "40")


def test_texts_of_any_length_and_numbers_of_any_size_are_read():
    for text in ("before " * 20_000, "step 4 " * 20_000, "now " * CACHED_QUERY_CHARS):
        assert TimeConstraint.of(text).body
    assert TimeConstraint.of("at step " + "9" * 400).step == math.inf
    assert TimeConstraint.of("at step ٤").step == 4
