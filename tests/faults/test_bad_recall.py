"""Bad input of a recall index: refused with a clear error or harmless, never half done."""

import math

import numpy as np
import pytest

from mesa_memory.core.records import MemoryRecord
from mesa_memory.errors import EmbedderError
from mesa_memory.retrieval.index import RecordIndex

TEXTS = ["The mill is on fire", "Bread is sold at dawn", "A wolf near the mill"]


def record(number, step=0, grade=None, subject=None):
    return MemoryRecord(f"1/x/{number}", 1, "x", "message", step, {}, grade, subject)


def small(embedded=True):
    """An index of three records, and the records."""
    index, records = RecordIndex(), [record(n, n) for n in range(3)]
    for n, (kept, text) in enumerate(zip(records, TEXTS, strict=True)):
        row = np.eye(3)[n] if embedded else None
        index.add(kept, text, row, source="test" if embedded else "")
    return index, records


def state(index):
    """What a recall shows of all records."""
    found = index.recall("mill", vector=[1, 1, 0], source=index.source, now=3)
    return [(r.record.id, r.score, r.parts["dense"]) for r in found]


WRONG_VECTORS = [
    [math.nan, 0, 0], [math.inf, 0, 0], [1e300, 0, 0], [1, 0], [[1, 0, 0]], [], "abc",
    [1, "x", 0], [1, [0], 0], 5.0,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_wrong_vector_changes_nothing():
    for vector in WRONG_VECTORS:
        index, _ = small()
        before = state(index)
        with pytest.raises(EmbedderError):
            index.add(record(9), "text", vector, source="test")
        with pytest.raises(EmbedderError):
            index.recall("mill", vector=vector, source="test")
        assert state(index) == before
        assert record(9) not in index


@pytest.mark.filterwarnings("ignore:overflow")
def test_one_wrong_vector_of_several_leaves_all_without():
    for vector in WRONG_VECTORS:
        index, records = small(embedded=False)
        with pytest.raises(EmbedderError):
            index.embed_all(records, [[1, 0, 0], [0, 1, 0], vector], "test")
        assert index.lacking() == records
        assert (index.source, index.dim) == ("", 0)
        index.embed_all(records, [[1, 0], [0, 1], [1, 1]], "another")
        assert (index.source, index.dim) == ("another", 2)


def test_too_few_vectors_and_records_from_elsewhere_leave_all_without():
    index, records = small(embedded=False)
    with pytest.raises(EmbedderError, match="2 vectors came for 3 records"):
        index.embed_all(records, np.eye(2), "test")
    with pytest.raises(KeyError):
        index.embed_all([records[0], record(9)], np.eye(2), "test")
    assert index.lacking() == records
    index.embed_all([], [], "test")
    assert index.dim == 0


def test_vectors_of_two_embedders_never_meet():
    index, records = small()
    before = state(index)
    for attempt in (
        lambda: index.add(record(9), "text", [1, 0, 0], source="other"),
        lambda: index.embed_all(records, np.eye(3), "other"),
        lambda: index.recall("mill", vector=[1, 0, 0], source="other"),
    ):
        with pytest.raises(EmbedderError, match=r"'test'.*'other'"):
            attempt()
    assert state(index) == before


def test_a_record_that_cannot_be_ranked_is_refused_whole():
    cases = [
        (record(9, math.nan), "text", ValueError),
        (record(9, math.inf), "text", ValueError),
        (record(9, 1, math.nan), "text", ValueError),
        (record(9), None, TypeError),
        (record(9), b"text", TypeError),
        (record(0), "text", ValueError),
        (record(9, subject=[]), "text", TypeError),
    ]
    for kept, text, error in cases:
        index, _ = small()
        before = state(index)
        with pytest.raises(error):
            index.add(kept, text, [1, 0, 0], source="test")
        assert state(index) == before
        index.add(record(10), "the next one", [0, 0, 1], source="test")
        assert len(state(index)) == 4


def test_a_vector_of_zeros_is_like_nothing():
    index, _ = small()
    index.add(record(9), "nothing at all", np.zeros(3), source="test")
    for recalled in index.recall("?", vector=np.zeros(3), source="test"):
        assert recalled.parts["dense"] == 0
        assert math.isfinite(recalled.score)


def test_arguments_that_make_no_sense_are_refused():
    no_count = [True, False, 2.5, 2.0, "3", [1], math.nan]
    cases = [({"k": k}, "k must be a whole number or None, got") for k in no_count]
    cases += [
        ({"k": -1}, "k must be 0 or more, got -1"),
        ({"now": math.nan}, "now must be a finite number"),
        ({"now": math.inf}, "now must be a finite number"),
        ({"query": 5}, "query must be a text"),
        ({"query": ["mill"]}, "query must be a text"),
        ({"scoring": "mesa_llm"}, "scoring must be a Scoring"),
        ({"kinds": 5}, "not iterable"),
    ]
    for given, error in cases:
        for index in (small()[0], RecordIndex()):
            with pytest.raises((TypeError, ValueError), match=error):
                index.recall(**{"query": "mill"} | given)


def test_k_may_be_any_kind_of_int_and_too_large():
    index, _ = small()
    assert len(index.recall("mill", np.int64(2))) == 2
    assert len(index.recall("mill", 10**30)) == len(index.recall("mill", None)) == 3


def test_filters_that_fit_nothing_give_nothing():
    index, records = small()
    assert index.recall("mill", kinds=[]) == []
    assert index.recall("mill", since=2, until=1) == []
    assert index.recall("mill", since=math.nan) == []
    assert index.recall("mill", without=records) == []
    assert len(index.recall("mill", without=[record(99)])) == 3


def test_a_query_without_words_is_no_trouble():
    for query in ["", " ", "?!…", "what is the", "_", "\x00", "́"]:
        found = small()[0].recall(query, vector=[0, 0, 1], source="test")
        assert found[0].record.id == "1/x/2"
        assert all(r.parts["lexical"] == 0 for r in found)


@pytest.mark.parametrize(
    "text",
    [
        "mill " * 20_000,
        "x" * 100_000,
        "磨坊" * 17_000,
        " ".join(map(str, range(17_000))),
    ],
    ids=["words", "one word", "no spaces", "all different"],
)
def test_a_text_of_100_kb_is_taken_whole_forgotten_whole_and_may_be_asked(text):
    index, _ = small(embedded=False)
    before = state(index)
    long = record(9, 9)
    index.add(long, text + " quince")
    assert index.recall("quince", 1)[0].record is long
    assert index.recall(text, 1)[0].record is long
    index.remove(long)
    assert state(index) == before
