"""What every store promises, for a SQLite file, memory and PostgreSQL."""

import random
from dataclasses import replace

import pytest
import sqlalchemy as sa

from mesa_memory.errors import StoreError, StoreReadOnly
from mesa_memory.stores import Batch, RunInfo, open_store, schema
from tests.support.stored import everything, full, record, rows

INFO = RunInfo("Town", {"n": 3, "a": 1}, "42", {"mesa": "3.5.1"}, "first")
HOSTILE = ["'); DROP TABLE records; --", "\0nul\0", "\ud800 half", "🦊 \U0001f9d1\u200d🚀",
           'say "hi" \\ \\u0000 $1 :run %s', "", "\u2028\r\n\t", "ABC" * 5000]  # fmt: skip


@pytest.fixture(params=["file", "memory", "postgres"])
def location(request, tmp_path):
    if request.param == "file":
        return str(tmp_path / "run.sqlite")
    if request.param == "memory":
        return ":memory:"
    return request.getfixturevalue("postgres").database()


@pytest.fixture
def store(location):
    opened = open_store(location, timeout=5)
    yield opened
    opened.close()


def of(row, *columns):
    """Some fields of a row."""
    return tuple(row[column] for column in columns)


def test_a_run_begins_with_what_is_known_of_it(store):
    assert store.begin(INFO) == 1
    assert store.begin(RunInfo("Town", parent=1, parent_step=4)) == 2
    one, two = rows(store, "runs")
    assert one.pop("started").startswith("20")
    assert one == {"id": 1, "name": "first", "model": "Town", "parameters": {"n": 3, "a": 1}, "seed": "42",
                   "versions": {"mesa": "3.5.1"}, "state": "running", "recipe": None, "parent": None, "parent_step": None}  # fmt: skip
    assert of(two, "parent", "parent_step") == (1, 4.0)


def test_everything_of_a_step_is_there_as_it_was_given(store):
    run, batch = store.begin(INFO), full(1)
    store.write(run, batch)
    found = everything(store, run)
    for table, given in [("recalls", batch.recalls), ("prompts", batch.prompts),
                         ("calls", batch.calls + batch.probes), ("interventions", batch.interventions),
        ("answers", batch.answers), ("scenes", batch.scenes),
                         ("agents", batch.agents), ("vectors", batch.vectors)]:  # fmt: skip
        for row, kept in zip(given, found[table], strict=True):
            assert row.items() <= kept.items()
    for row, kept in zip(batch.opened, found["records"], strict=True):
        assert (row | {"importance": 2}).items() <= kept.items()
    assert list(found["interventions"][0]["detail"]) == ["b", "a"], (
        "keys keep their order"
    )
    assert found["steps"] == [
        {"run": run, "step": 1, "seq": 9, "records": 3, "recalls": 1, "calls": 1}
    ]


def test_what_is_written_counts_up_over_all_tables(store):
    run = store.begin(INFO)
    store.write(run, full(1), full(2))
    found = everything(store, run)
    numbered = [rows for rows in found.values() if rows and "seq" in rows[0]]
    steps = found["steps"]
    seqs = [row["seq"] for rows in numbered if rows is not steps for row in rows]
    probes = [schema.PROBES + 1, schema.PROBES + 2]
    assert sorted(seqs) == [*range(1, 19), *probes], "probes are numbered apart"
    assert [row["seq"] for row in steps] == [9, 18]


CHANGED = ("importance", "valid_to", "closed_because", "superseded_by")


def test_a_record_is_graded_and_closed_later(store):
    run = store.begin(INFO)
    store.write(run, Batch(1, opened=[record(1), record(2)]))
    one, two = record(1)["id"], record(2)["id"]
    change = Batch(2, graded=[(one, 4, 2)], closed=[(one, 2, "superseded", two)])
    store.write(run, change)
    first, second = rows(store, "records")
    assert of(first, *CHANGED) == (4, 2, "superseded", two)
    assert of(second, *CHANGED) == (None, None, None, None)


def test_changes_within_a_batch_leave_the_callers_rows_alone(store):
    run, row = store.begin(INFO), record(1)
    change = {
        "graded": [(row["id"], 3, 2)],
        "closed": [(row["id"], 1, "evicted", None)],
    }
    store.write(run, Batch(1, opened=[row], **change))
    assert row == record(1) | {"seq": 1}
    (kept,) = rows(store, "records")
    assert of(kept, *CHANGED) == (3, 1, "evicted", None)


def test_a_step_is_written_once_and_nothing_of_a_refused_batch_stays(store):
    run = store.begin(INFO)
    store.write(run, full(1))
    before = everything(store, run)
    known, unknown = ("0/episodic/message/1", 5, 2), ("x", 1, 2)
    without_layer = record(97)
    del without_layer["layer"]
    for batch, error, said in (
        (
            Batch(1, opened=[record(99)]),
            StoreError,
            "step 1 of run 1 was written before",
        ),
        (
            Batch(2, opened=[record(98)], graded=[known, unknown]),
            StoreError,
            "1 of 2 records to be graded are not in run 1",
        ),
        (Batch(2, opened=[without_layer]), StoreError, "layer"),
        (
            Batch(2, opened=[record(96, content={"x": object()})]),
            TypeError,
            "not plain",
        ),
    ):
        with pytest.raises(error, match=said):
            store.write(run, batch)
    with pytest.raises(StoreError, match=r"\(.*(UNIQUE|unique)"):
        store.write(run, full(2), Batch(3, opened=[record(1, agent="0")]))
    assert everything(store, run) == before
    store.write(run, full(2))


def test_trailing_events_leave_no_finished_step(store):
    run = store.begin(INFO)
    store.write(run, full(1), Batch(1, opened=[record(50)], finished=False))
    assert len(rows(store, "records")) == 4
    assert len(rows(store, "steps")) == 1


def test_an_agent_that_comes_again_is_replaced(store):
    run = store.begin(INFO)
    for memory in ("ShortTermMemory", "STLTMemory"):
        agent = {"agent": "a/b", "unique_id": "a/b", "memory": memory}
        store.write(run, Batch(0, agents=[agent], finished=False))
    (kept,) = rows(store, "agents")
    assert of(kept, "unique_id", "memory", "layers") == ("a/b", "STLTMemory", None)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_what_agents_say_is_data(store, text):
    run = store.begin(RunInfo("Town", {text: text}, name=text))
    row = record(
        1, agent=text, text=text, content={"message": text, text: [text]}, subject=text
    )
    store.write(run, Batch(1, opened=[row], prompts=[{"step": 1, "agent": text, "text": text}],
                           checkpoint={text: {"said": text}}))  # fmt: skip
    said = text.replace("\0", "\ufffd").replace("\ud800", "\ufffd")
    (kept,) = rows(store, "records")
    assert of(kept, "text", "agent", "subject") == (said, said, said)
    assert kept["content"] == ({"message": said, said: [said]})
    assert rows(store, "prompts")[0]["text"] == said
    assert rows(store, "runs")[0]["parameters"] == {said: said}
    assert store.checkpoint(run) == (1, {said: {"said": said}})


def test_numbers_come_back_exactly_and_nan_is_null(store):
    run, rng = store.begin(INFO), random.Random(1)
    exact = [rng.uniform(-1, 1) * 10 ** rng.randint(-30, 30) for _ in range(500)]
    content = {
        "f": exact,
        "big": [2**63, -(2**70)],
        "odd": [float("nan"), float("inf")],
        7: True,
    }
    given = [
        record(i, step=x, valid_from=x, importance=float("nan"))
        for i, x in enumerate(exact)
    ]
    store.write(run, Batch(1, opened=[record(900, content=content), *given]))
    kept = {row["id"]: row for row in rows(store, "records")}
    expected = {"f": exact, "big": [2**63, -(2**70)], "odd": [None, None], "7": True}
    assert kept[record(900)["id"]]["content"] == expected
    assert [kept[row["id"]]["step"] for row in given] == exact
    assert kept[given[0]["id"]]["importance"] is None


def test_truncating_gives_the_store_of_a_run_that_ended_there_and_touches_no_other(
    store,
):
    run, other = store.begin(INFO), store.begin(INFO)
    for step in range(1, 7):
        store.write(run, full(step))
        store.write(other, full(step))
        if step == 3:
            before = everything(store, run)
    beside = everything(store, other)
    store.write(run, Batch(6, opened=[record(77)], finished=False))
    store.end(run, "failed")
    store.truncate(run, 3)
    stepless = {"checkpoints": 0, "vectors": 0}
    assert everything(store, run) | stepless == before | stepless
    assert rows(store, "runs")[0]["state"] == "running"
    store.write(run, full(4))
    assert rows(store, "steps", run=run)[-1]["seq"] == 36
    store.truncate(run, 0)
    left = {name for name, found in everything(store, run).items() if found}
    assert left <= {*schema.REPLACED_TABLES}
    assert everything(store, other) == beside


def test_the_newest_checkpoints_stay_and_those_to_be_kept(location):
    store = open_store(location)
    run = store.begin(INFO)
    for step in range(1, 11):
        store.write(run, replace(full(step), kept=step == 4))
        if step == 8:
            store.keep(run, 7)
    left = sorted({row["step"] for row in rows(store, "checkpoints")})
    assert left == [4, 7, 9, 10]
    with pytest.raises(StoreError, match="no checkpoint of step 5, only of"):
        store.keep(run, 5)
    assert store.checkpoint(run) == (10, {"": {"steps": 10}, "0": {"z": [10], "a": 1}})
    assert list(store.checkpoint(run, 9)[1]["0"]) == ["z", "a"]
    with pytest.raises(StoreError, match="no checkpoint of step 3"):
        store.checkpoint(run, 3)
    store.close()


def test_a_run_that_does_not_exist_is_neither_written_nor_ended(store):
    store.begin(INFO)
    with pytest.raises(StoreError, match="does not have run 9"):
        store.end(9, "finished")
    with pytest.raises(StoreError, match="does not have run 9"):
        store.write(9, full(1))


def test_a_store_opened_for_reading_writes_nothing(location):
    if location == ":memory:":
        pytest.skip("a new database in memory has nothing to read")
    store = open_store(location)
    run = store.begin(INFO)
    store.write(run, full(1))
    reader = open_store(location, read_only=True)
    assert everything(reader, run) == everything(store, run)
    with pytest.raises(StoreReadOnly, match="read_only=True"):
        reader.write(run, full(2))
    with pytest.raises(StoreReadOnly), reader.reading() as on:
        on.execute(sa.text("DELETE FROM records"))
    reader.close()
    store.close()


def test_more_rows_than_one_statement_takes_stay_in_order(store):
    run = store.begin(INFO)
    given = [record(i, text=f"text {i}") for i in range(3333)]
    store.write(run, Batch(1, opened=given))
    kept = sorted(rows(store, "records"), key=lambda row: row["seq"])
    assert [row["seq"] for row in kept] == list(range(1, 3334))
    assert [row["text"] for row in kept] == [row["text"] for row in given]
