"""What the views show, without a browser."""

import pytest

from mesa_memory import Services, open_run
from mesa_memory.runs.past import past as past_of
from mesa_memory.viz.data import agent, text_diff
from mesa_memory.viz.data.activity import activity
from mesa_memory.viz.serving.live_run import LiveRun
from tests.support.playing import play
from tests.support.recorded_town import RecordedTown

AGENTS, STEPS = 7, 9


POSTGRESQL = pytest.param("postgresql", marks=pytest.mark.slow)


@pytest.fixture(scope="module", params=["sqlite", POSTGRESQL])
def run(request, tmp_path_factory):
    if request.param == "sqlite":
        place = str(tmp_path_factory.mktemp("viz") / "run.sqlite")
    else:
        place = request.getfixturevalue("postgres").database()
    play(RecordedTown(place, n=AGENTS), STEPS)
    with open_run(place) as opened:
        yield opened


def test_the_heat_map_counts_what_the_run_holds(run):
    found = activity(run)
    assert found.agents == list(range(1, AGENTS + 1))
    events = found.measure("events")
    assert events.shape == (AGENTS, STEPS)
    history = run.history(agent=3, as_records=True)
    raw = ("message", "observation", "action")
    opened = [r for r in history if r["operation"] != "DELETE" and r["kind"] in raw]
    for place, step in enumerate(run.steps):
        assert events[2, place] == sum(r["step"] == step for r in opened)
    calls = run.cost(("agent", "step"), as_records=True)
    for row in calls:
        place = found.agents.index(row["agent"]), found.steps.index(row["step"])
        assert found["calls"][place] == row["calls"]
        assert found["tokens"][place] == row["tokens_in"] + row["tokens_out"]
    assert found["calls"].sum() == sum(row["calls"] for row in calls) > 0


def test_a_past_is_what_the_run_says_at_every_step(run):
    for who in (1, 2, 4):
        past = past_of(run, who)
        for step in run.steps:
            expected = run.state(who, step, as_records=True)
            found = past.at(step)
            assert [r["id"] for r in found] == [r["id"] for r in expected]
            assert [r["importance"] for r in found] == [
                r["importance"] for r in expected
            ]


def test_what_a_step_changed_leads_from_one_state_to_the_next(run):
    past = past_of(run, 2)
    for before, step in zip(run.steps, run.steps[1:]):
        rows = agent.changed(past, run.steps, step)
        added = {r["id"] for r in rows if r["change"] == "added"}
        ended = {r["id"] for r in rows if r["change"] != "added"}
        kept = {r["id"] for r in past.at(before)}
        assert (kept | added) - ended == {r["id"] for r in past.at(step)}


def test_a_summary_stands_alone_beside_the_version_before_it(run):
    summaries = [
        found
        for step in run.steps
        for view in agent.layer_views(past_of(run, 2), step)
        for found in view.texts
    ]
    assert summaries
    row, before = summaries[-1]
    assert row["kind"] == before["kind"] == "summary"
    assert before["valid_to"] == row["valid_from"]


def test_a_kind_of_record_that_nobody_knows_has_a_table_with_its_numbers():
    known = {
        "layer": "facts", "step": 2.0, "valid_from": 2.0, "valid_to": None,
        "importance": None, "subject": None, "superseded_by": None, "graded_at": None, "stale_since": None,
    }  # fmt: skip
    rows = [
        known
        | {
            "id": f"1/facts/fact/{n}", "kind": "fact", "seq": n, "sources": ["x"],
            "origin": "derived",
            "text": f"fact {n}", "content": {"text": f"fact {n}", "doubt": n / 4},
        }
        for n in (1, 2)
    ]  # fmt: skip
    (view,) = agent.layer_views(agent.Past(rows), 2.0)
    assert list(view.tables) == ["fact"]
    names = agent.columns(view.tables["fact"])
    assert names == ["step", "text", "doubt"]
    cells = [[agent.cell(row, name) for name in names] for row in rows]
    assert cells == [[2.0, "fact 1", 0.25], [2.0, "fact 2", 0.5]]


def test_the_prompt_is_shown_as_it_was_with_its_tokens(run):
    (row,) = agent.shown(run, 3, 5)
    assert row["text"] == run.prompt(3, 5)
    assert row["tokens"] == pytest.approx(len(row["text"]) / 4, abs=1)
    assert row["times"] == 1


def test_changes_hold_both_versions_of_a_text():
    cases = [
        ("The mill burns.", "The old mill burns again."),
        ("", "new"),
        ("gone", ""),
        ("a  b\n\nc", "a b\nc"),
        ("same", "same"),
        ("word " * 4000, "words " * 4000),
    ]
    for old, new in cases:
        pieces = text_diff.changes(old, new)
        after = "".join(text for mark, text in pieces if mark != text_diff.REMOVED)
        assert after == new
        before = [text for mark, text in pieces if mark != text_diff.ADDED]
        assert "".join(before).split() == old.split()


def test_an_answer_is_worked_out_once_until_there_are_new_steps():
    town = RecordedTown("", record=True, n=3)
    recorder = Services.of(town).recorder
    town.step()
    recorder.sync()
    asked = []

    def count(run, unit):
        asked.append(unit)
        return len(run.steps)

    feed = LiveRun(open_run(recorder.store), "town")
    source = feed.source
    assert [source.of(count, "steps"), source.of(count, "steps")] == [1, 1]
    assert asked == ["steps"]
    assert feed.refresh() is source
    town.step()
    recorder.sync()
    newer = feed.refresh()
    assert newer is not source
    assert newer.of(count, "steps") == 2
    assert (source.steps, newer.steps) == ([1.0], [1.0, 2.0])
    recorder.close()
