"""Values, classes and functions in what is recorded."""

import json
import math
from collections import deque
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesa_memory.core.codec import (
    MARKS,
    by_name,
    decode,
    decode_argument,
    encode,
    full_name,
    lost,
    readable,
)
from tests.support.studied import Street


@pytest.mark.parametrize("module", ["__main__", "__mp_main__", "__worker__"])
def test_a_class_of_a_program_has_one_name_in_it_and_in_its_workers(module):
    town = type("Town", (), {"__module__": module})
    assert full_name(town) == "__main__.Town"


def test_what_has_no_name_of_its_own_has_that_of_its_class():
    assert full_name(Street) == "tests.support.studied.Street"
    assert full_name(partial(Street, n=3)) == "functools.partial"


def test_a_damaged_value_is_still_shown():
    assert readable({"$number": "x"}) == {"$number": "x"}
    for mark in MARKS:
        for junk in (5, None, "x", [1], {}):
            assert str(readable({mark: junk}))


names = st.one_of(st.text(), st.sampled_from(sorted(MARKS)))
atoms = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), names
)
keys = st.one_of(names, st.integers(), st.tuples(st.integers(), names))
values = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.dictionaries(keys, inner),
        st.sets(st.integers()),
        st.frozensets(names),
        st.builds(deque, st.lists(inner, max_size=3), st.just(5)),
    ),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None)
@given(values)
def test_a_value_is_the_same_after_json_also_if_it_looks_like_a_mark(value):
    written = json.loads(json.dumps(encode(value)))
    assert lost(written) is None
    again = decode(written)
    assert again == value and encode(again) == written


def test_what_json_lacks_comes_back_as_an_argument_and_objects_leave_their_class():
    value = {"a": (math.inf, 2**70), "b": {3: Path("x")}, "c": partial(Street, n=3)}
    with_code = json.loads(json.dumps(encode(value, by_name)))
    again = decode_argument(with_code)
    assert again["a"] == value["a"] and again["b"] == value["b"]
    assert (again["c"].func, again["c"].keywords) == (Street, {"n": 3})
    assert "partial" in lost(encode(value))
    holding_itself = []
    holding_itself.append(holding_itself)
    for odd in (holding_itself, object(), {1, "a", None, object()}):
        assert "cannot be recorded" in lost(encode(odd))
    with pytest.raises(ValueError, match="cannot be restored"):
        decode(with_code)
