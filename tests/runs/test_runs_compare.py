"""Two runs side by side, and runs as files."""

import csv
import json

import pytest

from mesa_memory.errors import StoreCorrupt
from mesa_memory.runs import open_run
from mesa_memory.stores import open_store
from tests.support.recorded import Story


@pytest.fixture
def store(tmp_path):
    opened = open_store(tmp_path / "runs.sqlite")
    yield opened
    opened.close()


def first(store, edit=None, **changes):
    """The first difference of a story and the same with changes."""
    one = Story(store).run
    other = Story(store, edit=edit, **changes).run
    with open_run(store, one) as left, open_run(store, other) as right:
        found = left.differences(right)
        mirrored = right.differences(left)
    if found:
        assert (mirrored.table, mirrored.step) == (found.table, found.step)
        assert (mirrored.left, mirrored.right) == (found.right, found.left)
    return found


# -- differences ----------------------------------------------------------------------


def test_equal_runs_have_no_difference_whoever_ran_them(store):
    def slower(_, batch):
        for call in batch.calls:
            call |= {"latency": 99.0, "cost": 5.0, "attempts": 3, "replayed": True}

    assert first(store, slower, name="again") is None


def test_the_order_in_which_agents_thought_is_no_difference(store):
    def reversed_agents(_, batch):
        for name in ("opened", "calls", "recalls", "prompts"):
            getattr(batch, name).sort(key=lambda row: row["agent"], reverse=True)

    assert first(store, reversed_agents) is None


def change(table, step, **fields):
    def edit(now, batch):
        if now == step:
            getattr(batch, table)[0] |= fields

    return edit


@pytest.mark.parametrize(
    ("table", "fields"),
    [
        ("opened", {"text": "another"}),
        ("opened", {"importance": 5.0}),
        ("recalls", {"candidates": []}),
        ("prompts", {"text": "another"}),
        ("calls", {"reply": "another"}),
    ],
)
def test_the_first_change_is_found_with_both_sides(store, table, fields):
    found = first(store, change(table, 3, **fields))
    (field, value) = next(iter(fields.items()))
    assert found.table == {"opened": "records"}.get(table, table)
    assert (found.step, found.fields) == (3, (field,))
    assert found.left[field] != found.right[field] == value


def test_a_lifetime_that_ended_otherwise_differs_when_it_ended(store):
    def keep_the_fact(step, batch):
        batch.closed = [c for c in batch.closed if "fact" not in c[0]]

    found = first(store, keep_the_fact)
    assert (found.step, found.table) == (3, "records")
    assert found.fields == ("valid_to", "closed_because")
    assert found.left["valid_to"] == 3
    assert found.right["valid_to"] is None

    def and_a_prompt(step, batch):
        keep_the_fact(step, batch)
        change("prompts", 2, text="x")(step, batch)

    assert first(store, and_a_prompt).table == "prompts"


def test_a_row_that_only_one_run_has_is_a_difference(store):
    def drop(step, batch):
        if step == 2:
            batch.calls.pop(0)

    found = first(store, drop)
    assert (found.table, found.step, found.fields) == ("calls", 2, ())
    assert found.left["purpose"] == "consolidate"
    assert found.right is None


# -- export ---------------------------------------------------------------------------

ODD = '=HYPERLINK("http://x"), "quoted"\nnext ../line \ud83d\ude00'
ODD = ODD.encode("utf-16", "surrogatepass").decode("utf-16")


@pytest.fixture
def odd(store):
    """A run in which an agent says odd things."""
    story = Story(store, steps=3, edit=change("opened", 2, text=ODD))
    Story(store, steps=1)
    with open_run(store, story.run) as run:
        yield run


def test_csv_holds_every_row_of_this_run_and_no_formula(odd, tmp_path):
    paths = odd.export(tmp_path / "new" / "out")
    assert {p.name for p in paths} == {p.name for p in (tmp_path / "new/out").iterdir()}
    assert {"runs.csv", "records.csv", "calls.csv"} <= {p.name for p in paths}
    with (tmp_path / "new/out/records.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * (2 * 3 + 1 + 1 + 2)
    assert [int(row["seq"]) for row in rows] == sorted(int(row["seq"]) for row in rows)
    assert [row["text"] for row in rows if "HYPER" in row["text"]] == ["'" + ODD]
    summary = next(row for row in rows if row["id"] == "7/stlt/summary/1")
    sources = json.loads(summary["sources"])
    assert sources == ["7/stlt/message/1", "7/stlt/observation/1"]
    with (tmp_path / "new/out/runs.csv").open() as file:
        assert len(file.readlines()) == 2


def test_no_file_is_written_over(odd, tmp_path):
    (tmp_path / "steps.csv").write_text("mine")
    with pytest.raises(FileExistsError, match="choose another folder"):
        odd.export(tmp_path)
    assert [p.name for p in tmp_path.glob("*.csv")] == ["steps.csv"]


# -- the store ------------------------------------------------------------------------


def test_a_run_is_read_while_another_connection_writes_it(tmp_path):
    path = tmp_path / "run.sqlite"
    store, seen = open_store(path), []

    def look(step, batch):
        with open_run(path) as run:
            seen.append((run.status, run.steps))
            if step > 1:
                assert len(run.state("b", step - 1)) > 0

    Story(store, edit=look)
    assert seen == [("running", [*range(1, step)]) for step in range(1, 7)]
    with open_run(path) as run:
        assert run.status == "finished"
    store.close()


@pytest.mark.parametrize("bad", [{"id": "x"}, ["x"], [{"rank": 1}], 5])
def test_candidates_that_are_none_are_a_damaged_file(store, bad):
    run = Story(store, steps=1, edit=change("recalls", 1, candidates=bad)).run
    with open_run(store, run) as opened:
        with pytest.raises(StoreCorrupt, match="not a list of candidates"):
            opened.recalls(7)
        assert len(opened.recalls("b")) == 2
