"""Recorded runs, asked: what was remembered, when and why, and what it cost."""

import pytest

from mesa_memory.runs import open_run
from mesa_memory.stores import Batch, RunInfo, open_store
from tests.support.recorded import Story


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def place(request, tmp_path_factory):
    """Where a store may be."""
    if request.param == "sqlite":
        return str(tmp_path_factory.mktemp("runs") / "run.sqlite")
    return request.getfixturevalue("postgres").database()


@pytest.fixture(scope="module")
def told(place):
    """A story in a store, and the store's place."""
    store = open_store(place)
    story = Story(store, name="told")
    store.close()
    return story, place


@pytest.fixture
def run(told):
    with open_run(told[1], told[0].run) as opened:
        yield opened


def ids(rows):
    return [row["id"] for row in rows]


def of(row, names):
    """Some fields of a row, whose names are given in one text."""
    return tuple(row[name] for name in names.split())


# -- the run --------------------------------------------------------------------------


def test_a_run_says_what_it_is(run):
    known = (run.name, run.model, run.seed, run.status)
    assert known == ("told", "Town", "1", "finished")
    assert run.parameters == {"n": 2}
    assert run.versions == {}
    assert run.parent is None
    assert run.steps == [1, 2, 3, 4, 5, 6]


def test_agents_have_their_own_ids_and_what_they_remember(run):
    rows = run.agents(as_records=True)
    assert [row["agent"] for row in rows] == [7, "b"]
    assert of(rows[0], "name class memory") == (None, "Citizen", "LayeredMemory")
    assert rows[0]["layers"] == ["stlt", "facts"]
    assert of(rows[0], "records first_step last_step") == (20, 1, 6)


def test_the_newest_run_is_opened_and_others_by_number_or_name(tmp_path):
    path = tmp_path / "two.sqlite"
    store = open_store(path)
    for name in ("one", "two"):
        Story(store, steps=1, name=name)
    with open_run(path) as newest, open_run(path, 1) as first:
        assert (newest.name, first.name) == ("two", "one")
        rows = newest.runs(as_records=True)
        told = [of(row, "id name steps agents") for row in rows]
        assert told == [(1, "one", 1, 2), (2, "two", 1, 2)]
    with open_run(str(path), "one") as named:
        assert named.id == 1
    for unknown in (3, "three", True, -1):
        with pytest.raises(ValueError, match=r"its runs are 1 'one', 2 'two'"):
            open_run(path, unknown)
    store.close()


def test_a_frame_has_the_same_rows_as_plain_records(run):
    for ask in (
        lambda **how: run.state(7, **how),
        lambda **how: run.agents(**how),
        lambda **how: run.recalls("b", 2, **how),
        lambda **how: run.cost(("agent", "step"), **how),
        lambda **how: run.interventions(**how),
        lambda **how: run.provenance("7/stlt/summary/2", **how),
    ):
        frame, rows = ask(), ask(as_records=True)
        assert len(frame) == len(rows)
        if rows:
            assert list(frame.columns) == list(rows[0])
    assert "detail" in run.interventions().columns  # also without a row


# -- memory ---------------------------------------------------------------------------


def test_state_is_what_was_current_at_the_end_of_each_step(told, run):
    story, _ = told
    for agent, step in story.current:
        found = ids(run.state(agent, step, as_records=True))
        assert sorted(found) == sorted(story.current[agent, step])
    last = run.state(7, as_records=True)
    assert sorted(ids(last)) == sorted(story.current["7", 6])
    assert [row["seq"] for row in last] == sorted(row["seq"] for row in last)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda run: run.state(8), r"no agent 8; its agents are 7, b"),
        (lambda run: run.state(7, 9), r"step 9; finished are 1, 2, 3, 4, 5, 6"),
        (lambda run: run.state(7, True), "True; finished"),
        (lambda run: run.state(7, float("nan")), "nan"),
        (lambda run: run.prompt("b", 2.5), r"2\.5"),
        (lambda run: run.calls(agent="8"), "no agent '8'"),
        (lambda run: run.history("7/x"), r"such as '\w/"),
        (lambda run: run.provenance("7/x"), "no record '7/x'"),
        (lambda run: run.history(), "one of them"),
        (lambda run: run.history("7/x", agent=7), "one of them"),
        (lambda run: run.cost("who"), "cost is by purpose, agent"),
    ],
)
def test_what_is_unknown_is_named_with_what_there_is(run, ask, message):
    with pytest.raises(ValueError, match=message):
        ask(run)


FACT = [(1, "ADD", "facts/fact/1"), (3, "DELETE", "facts/fact/1")]


def operations(rows):
    return [(r["step"], r["operation"], r["id"].split("/", 1)[1]) for r in rows]


def test_history_is_the_chain_of_versions(run):
    expected = [(1, "ADD", "stlt/impression/1"), (4, "UPDATE", "stlt/impression/2")]
    for name in ("7/stlt/impression/1", "7/stlt/impression/2"):
        rows = run.history(name, as_records=True)
        assert operations(rows) == expected
    assert rows[1]["previous"] == ["7/stlt/impression/1"]
    assert rows[1]["subject"] == "b"


def test_a_fact_that_was_deleted_says_why(run):
    rows = run.history("b/facts/fact/1", as_records=True)
    assert operations(rows) == FACT
    assert rows[1]["because"] == "deleted"


def test_a_version_made_from_one_that_ended_with_it_takes_its_place(tmp_path):
    def forget_names(step, batch):
        batch.closed = [(*closed[:3], None) for closed in batch.closed]
        for row in batch.opened:
            if step == 4 and row["kind"] == "summary":
                row["text"] = row["content"]["text"] = "All until step 2"

    store = open_store(tmp_path / "run.sqlite")
    Story(store, steps=4, edit=forget_names)
    with open_run(store) as run:
        rows = run.history("7/stlt/summary/2", as_records=True)
    assert operations(rows) == [
        (2, "ADD", "stlt/summary/1"),
        (3, "UPDATE", "stlt/summary/2"),
        (4, "NONE", "stlt/summary/3"),  # it says the same
    ]
    store.close()


# -- evidence -------------------------------------------------------------------------


def test_evidence_goes_down_to_raw_events_in_order(run):
    rows = run.provenance("7/stlt/summary/2", as_records=True)
    told = [(r["depth"], r["id"][7:], r["parent"] and r["parent"][7:]) for r in rows]
    assert told == [
        (0, "summary/2", None),
        (1, "summary/1", "summary/2"),
        (2, "message/1", "summary/1"),
        (2, "observation/1", "summary/1"),
        (1, "message/2", "summary/2"),
        (1, "observation/2", "summary/2"),
    ]
    assert not any(row["missing"] or row["repeated"] for row in rows)
    assert {row["agent"] for row in rows} == {7}


def linked(store, sources):
    """A run of records with these sources."""
    number = store.begin(RunInfo(model="Town"))
    batch = Batch(1)
    batch.agents = [{"agent": "1", "unique_id": 1}]
    batch.opened = [
        {"id": name, "agent": "1", "layer": "l", "kind": "k", "step": 1, "text": name,
         "valid_from": 1, "sources": given}
        for name, given in sources.items()
    ]  # fmt: skip
    store.write(number, batch)
    return open_run(store, number)


def test_a_circle_ends_and_what_is_missing_is_said(place):
    store = open_store(place)
    sources = {"a": ["b", "gone", "a"], "b": ["c", "c"], "c": ["a"], "odd": {"k": "a"}}
    run = linked(store, sources)
    rows = run.provenance("a", as_records=True)
    told = [of(row, "depth id missing repeated") for row in rows]
    assert told == [
        (0, "a", False, False),
        (1, "b", False, False),
        (2, "c", False, False),
        (3, "a", False, True),
        (1, "gone", True, False),
        (1, "a", False, True),
    ]
    assert ids(run.provenance("odd", as_records=True)) == ["odd"]
    store.close()


# -- recalls, prompts, calls ----------------------------------------------------------


def test_each_candidate_of_a_recall_is_a_row_with_its_parts(run):
    rows = run.recalls(7, 3, as_records=True)
    told = [of(row, "rank shown score") for row in rows]
    assert told == [(1, True, 1.0), (2, False, 0.5)]
    first = rows[0]
    assert first["text"] == "The mill of ward 3 is on fire"
    assert of(first, "query purpose agent") == ("fire?", "read", 7)
    parts = of(first, "relevance dense lexical importance recency")
    assert parts == (0.9, 0.5, 2.5, 0.5, 1.0)
    assert len(run.recalls(7)) == 2 * 6


def test_the_prompt_is_the_text_that_was_shown(run):
    short, long = (f"{s} memory of 7 in step 2:\n- fire" for s in ("short", "long"))
    assert run.prompt(7, 2) == f"{short}\n\n{long}"
    told = [row["section"] for row in run.prompts(7, 2, as_records=True)]
    assert told == ["short", "long"]
    assert len(run.prompts("b")) == 12


def test_calls_are_chosen_by_agent_step_and_purpose(run):
    assert len(run.calls()) == 24
    assert len(run.calls(agent="b", purpose="reasoning")) == 6
    (call,) = run.calls(7, 2, "consolidate", as_records=True)
    assert call["prompt"] == [{"role": "user", "content": "consolidate 2"}]
    assert (call["reply"], call["cost"], call["replayed"]) == ("yes", 0.25, False)


def test_an_unknown_price_makes_the_sum_unknown(run):
    known, unknown = run.cost(as_records=True)
    assert of(known, "purpose calls cost") == ("consolidate", 12, 3.0)
    assert of(known, "tokens_in latency unpriced") == (120, 6.0, 0)
    assert of(unknown, "purpose cost unpriced") == ("reasoning", None, 12)
    (total,) = run.cost((), as_records=True)
    assert of(total, "calls cost tokens_out") == (24, None, 48)
    by = run.cost(("agent", "step"), as_records=True)
    assert [(row["agent"], row["step"]) for row in by][:2] == [(7, 1), (7, 2)]
