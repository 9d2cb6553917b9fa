"""What came to mind, and the same candidates ranked by other weights."""

import pytest

from mesa_memory import Scoring, Services
from mesa_memory.runs.past import Past, past
from mesa_memory.viz.data import recall as data
from mesa_memory.viz.data.presence import steps
from mesa_memory.viz.views.recall import bars, columns
from tests.support.recorded_town import RecordedTown

STEPS = 8
#: what agent 5 is asked by hand in the last step, with these weights
QUERY, FIRST, SECOND = "fish sold", (1.0, 0.2, 0.15), (0.1, 0.0, 2.0)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A small town; before the last step agent 5 is asked twice."""
    file = str(tmp_path_factory.mktemp("recalled") / "run.sqlite")
    town = RecordedTown(file, n=7)
    for step in range(STEPS):
        town.step()
        if step == STEPS - 2:
            ask = town.citizens[4].memory.recall
            # More than there are: so both rank the same.
            for weights in (FIRST, SECOND):
                ask(QUERY, 1_000, scoring=Scoring(*weights, refresh="off"))
    Services.of(town).recorder.close()
    return file


def found(run, agent, step):
    known = past(run, agent)
    return [data.understood(row, known) for row in data.recalls(run, agent, step)]


def order(ranked):
    return [one.candidate.id for one in ranked]


def made(parts, weights=(1.0, 0.2, 0.15, 0.0), steps=None, **fields):
    """A recall whose candidates a, b, … have these parts, and were recorded in order."""
    names = [chr(ord("a") + n) for n in range(len(parts))]
    steps = steps or [1] * len(parts)
    rows = [
        {"id": name, "step": step, "seq": n, "sources": [], "content": None,
         "kind": "message", "text": f"text of {name}", "superseded_by": None,
         "origin": "event"}
        for n, (name, step) in enumerate(zip(names, steps))
    ]  # fmt: skip
    candidates = [
        {"id": name, "rank": n, "shown": name != "c", **dict(zip(data.PARTS, values)),
         "score": sum(w * v for w, v in zip(weights, values))}
        for n, (name, values) in enumerate(zip(names, parts), 1)
    ]  # fmt: skip
    row = {"step": 3, "layer": "episodic", "purpose": "prompt", "query": "?",
           "scoring": dict(zip(data.PARTS, weights)), "candidates": candidates}  # fmt: skip
    return data.understood(row | fields, Past(rows))


def test_with_its_own_weights_every_recall_is_as_it_was(run):
    count = 0
    for agent in (1, 5, 6, 7):
        for step in run.steps:
            for recall in found(run, agent, step):
                ranked = data.ranked(recall, None)
                assert ranked == data.ranked(recall, recall.weights[:3])
                assert [one.moved for one in ranked] == [0] * len(ranked)
                for one in ranked:
                    assert sum(one.weighted) == pytest.approx(one.score, abs=1e-5)
                    assert one.candidate.row is not None
                count += 1
    assert count > 20


def test_other_weights_rank_as_the_memory_itself_does(run):
    asked = [r for s in run.steps for r in found(run, 5, s) if r.query == QUERY]
    first, second = asked
    assert first.weights[:3] == FIRST and second.weights[:3] == SECOND
    assert len(first.candidates) == len(second.candidates) > 5
    assert order(data.ranked(first, SECOND)) == order(data.ranked(second, None))
    assert order(data.ranked(second, FIRST)) == order(data.ranked(first, None))
    assert any(one.moved for one in data.ranked(first, SECOND))


def test_a_change_of_weights_says_who_moved_where():
    recall = made([(0.9, 0.0, 0.1, 0.0), (0.5, 1.0, 0.2, 0.0), (0.1, 0.5, 1.0, 0.0)])
    ranked = data.ranked(recall, (0.0, 0.0, 1.0))
    assert order(ranked) == ["c", "b", "a"]
    assert [one.moved for one in ranked] == [2, 0, -2]
    assert [one.weighted for one in ranked] == [
        (0.0, 0.0, 1.0, 0.0, 0.0, 0.0),
        (0.0, 0.0, 0.2, 0.0, 0.0, 0.0),
        (0.0, 0.0, 0.1, 0.0, 0.0, 0.0),
    ]


def test_what_is_taken_off_a_score_has_its_weight_and_stays():
    weights = {"relevance": 1.0, "superseded": 0.2, "question_penalty": 0.05}
    parts = [(1.0, 0, 0, 0, -0.5, -1.0), (0.5, 0, 0, 0, 0, 0)]
    recall = made(parts, scoring=weights)
    assert recall.weights == (1.0, None, None, None, 0.2, 0.05)
    first, second = data.ranked(recall, (0.1, 0.0, 0.0))
    assert (first.candidate.id, first.score) == ("b", 0.05)
    assert second.score == pytest.approx(0.1 - 0.1 - 0.05)
    series = {s["name"]: s["data"] for s in bars(data.ranked(recall, None))["series"]}
    assert series["superseded"] == [-0.1, 0] and series["question"] == [-0.05, 0]


def test_what_is_the_same_for_all_candidates_has_no_column():
    usual = ["rank", "prompt", "score", "relevance", "importance", "recency"]
    row = ["step", "kind", "text"]
    plain = made([(0.9, 0.0, 0.1, 0.0), (0.5, 1.0, 0.2, 0.0)])
    assert list(columns(plain, data.ranked(plain, None))) == usual + row
    moved = list(columns(plain, data.ranked(plain, (0.0, 0.0, 1.0))))
    assert moved == ["rank", "was", "change", *usual[1:], *row]
    timed = made([(0.9, 0.0, 0.1, 1.0)], weights=(1.0, 0.2, 0.15, 0.3))
    assert "time_match" in columns(timed, data.ranked(timed, None))


def test_equals_go_to_the_earlier():
    parts = [(0.5, 0.2, 0.0, 0.0), (0.4, 0.2, 0.0, 0.0), (0.3, 0.2, 0.0, 0.0)]
    recall = made(parts, steps=[2, 1, 1])
    assert order(data.ranked(recall, (0.0, 1.0, 0.0))) == ["b", "c", "a"]


def test_what_the_budget_dropped_is_said_in_words():
    recall = made([(0.9, 0, 0, 0), (0.5, 0, 0, 0), (0.1, 0, 0, 0)])
    assert recall.dropped == 1
    drawn = bars(data.ranked(recall, None))
    names = drawn["yAxis"]["data"]
    assert names == ["1 text of a", "2 text of b", "3 [dropped] text of c"]
    assert [one["name"] for one in drawn["series"]] == ["relevance"]


def test_a_damaged_recall_shows_what_is_left_of_it():
    recall = made([(1.0, 0, 0, 0)], scoring="?", candidates=[7, {"id": "z"}, {}])
    assert recall.weights == (None,) * len(data.PARTS)
    (one,) = data.ranked(recall, None)
    assert (one.candidate.id, one.score) == ("z", 0.0)
    assert one.candidate.text == "not in this run"


def test_the_steps_with_recalls_are_known(run):
    own = steps(run, "recall", 5)
    assert own == [step for step in run.steps if found(run, 5, step)]
    assert own
    assert steps(run, "recall", 4) == []  # a short-term memory
