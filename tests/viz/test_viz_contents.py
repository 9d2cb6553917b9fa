"""What memories made of an inn's talk: threads, facts and chapters."""

import pytest

from mesa_memory.interventions import erase
from mesa_memory.runs.past import Past, past
from mesa_memory.viz.data import presence
from mesa_memory.viz.data.agent import cell, columns
from mesa_memory.viz.views import chapters, conversations, facts
from tests.support.playing import lived, reading
from tests.support.recorded import HOSTILE
from tests.support.recorded_talk import SAID, Inn

STEPS = 9


@pytest.fixture(scope="module")
def inn():
    with reading(lived(Inn(words=HOSTILE), STEPS)) as run:
        yield run


def lines(run, agent, thread, step):
    looked_at = [agent, *thread.others]
    pasts = {who: past(run, who) for who in looked_at}
    recalls = {who: conversations.recalled(run, who) for who in looked_at}
    return conversations.lines(thread, agent, step, pasts, recalls)


def test_a_view_knows_the_agents_and_steps_that_have_its_data(inn):
    assert presence.first(inn, "chapters")[0] == 3
    assert presence.first(inn, "facts")[0] == 2
    assert presence.first(inn, "recall")[0] == 4
    for agent in range(1, 8):
        steps = {
            view: presence.steps(inn, view, agent) for view in ("facts", "chapters")
        }
        assert [view for view, some in steps.items() if some] == (
            ["facts"] if agent == 2 else ["chapters"] if agent == 3 else []
        )
    first = presence.steps(inn, "chapters", 3)[0]
    told = chapters.told(past(inn, 3), first)
    assert told.chapters or told.stories
    told = chapters.told(past(inn, 3), first - 1)
    assert not (told.chapters or told.stories)


def test_views_without_data_are_missing_with_the_reason_but_not_of_a_long_run(
    inn, monkeypatch
):
    # Its agents have no reasoning of their own.
    own = (
        "No agent of this run asked a language model itself, as agents of Mesa-LLM do."
    )
    assert presence.missing(inn) == {"decisions": own}
    monkeypatch.setattr(presence, "LACKS", {"facts": "No record is of this kind."})
    monkeypatch.setitem(presence.KINDS, "facts", ("never",))
    assert presence.missing(inn) == {"facts": "No record is of this kind."}
    monkeypatch.setattr(presence, "MAX_RECORDS", 10)
    assert presence.missing(inn) == {}


def test_messages_with_the_same_others_are_one_thread(inn):
    found = conversations.threads(past(inn, 1), 1, STEPS)
    assert [(thread.others, len(thread.rows)) for thread in found] == [
        ((6, 2, 3, 4, 5, 7), STEPS),
        ((5, 2), 3),
        ((5,), 1),
        ((6, 2), 1),
    ]
    until = conversations.threads(past(inn, 1), 1, 2)
    assert [len(thread.rows) for thread in until] == [2, 2]
    (to_all, *_) = conversations.threads(past(inn, 6), 6, STEPS)
    assert to_all.others == (1, 2, 3, 4, 5, 7)


def test_each_line_says_what_became_of_it_in_each_memory(inn):
    known = past(inn, 1)
    thread = conversations.threads(known, 1, STEPS)[1]
    told = lines(inn, 1, thread, STEPS)
    assert [(line.speaker, line.text) for line in told] == [
        (speaker, words)
        for speaker, hearers, words in SAID.values()
        if {1, 2, 5} == {speaker, *hearers}
    ]
    for line in told:
        own, other, third = line.traces
        assert (third.agent, third.state) != (2, conversations.UNKNOWN)
        assert (own.agent, own.state) == (1, conversations.SUMMARISED)
        (summary,) = own.by
        row = known.by_id[summary]
        assert row["kind"] == "conversation"
        assert own.since == row["valid_from"]
        assert (other.agent, other.state) == (5, conversations.SUMMARISED)
    then = lines(inn, 1, conversations.threads(known, 1, 1)[1], 1)
    assert [t.state for t in then[0].traces] == [conversations.WORDS] * 3


def test_a_summary_that_came_to_mind_counts_for_its_lines(inn):
    thread = conversations.threads(past(inn, 1), 1, STEPS)[1]
    came = {
        step for line in lines(inn, 1, thread, STEPS) for step in line.traces[0].recalls
    }
    recalled = conversations.recalled(inn, 1)
    made = conversations.summaries(thread, 1, STEPS, {1: past(inn, 1)})
    summaries = {row["id"] for _, row in made}
    assert came == {
        step for name in summaries for step, shown in recalled.get(name, ()) if shown
    }
    assert came


def test_forgotten_and_erased_lines_are_told_apart():
    model = lived(Inn(), STEPS)
    guest = model.agents[5]
    newest = [r for r in guest.memory.current_records() if r.kind == "message"][-1]
    erase(guest, newest)
    model.step()
    with reading(model) as run:
        thread = conversations.threads(past(run, 6), 6, STEPS + 1)[0]
        states = [line.traces[0].state for line in lines(run, 6, thread, STEPS + 1)]
    assert conversations.CHANGED in states
    assert conversations.FORGOTTEN in states
    assert states[-1] == conversations.WORDS


def test_facts_have_speakers_history_and_what_is_disputed(inn):
    known = past(inn, 2)
    at_first = facts.facts(known, 1)
    assert [(one.statement.subject, one.value) for one in at_first] == [
        ("Carl", "the mill")
    ]
    carl = [one for one in facts.facts(known, STEPS) if one.statement.subject == "Carl"]
    assert [(one.value, one.statement.speakers) for one in carl] == [
        ("the inn", (5,)),
        ("the tower", (6,)),
    ]
    assert [one.rivals for one in carl] == [(carl[1].row["id"],), (carl[0].row["id"],)]
    past_values = facts.history(known, carl[1].row["id"], STEPS)
    assert [
        (one.value, one.until, facts.ending(one, known)) for one in past_values
    ] == [
        ("the mill", 2, "superseded by the inn"),
        ("the inn", None, ""),
        ("the tower", None, ""),
    ]
    assert [one.value for one in facts.history(known, carl[0].row["id"], 2)] == [
        "the mill",
        "the inn",
    ]


def test_verdicts_of_the_write_gate_stay(inn):
    judged = facts.every(past(inn, 2), STEPS)
    refused = [one for one in judged if one.refused]
    assert "sad" in [one.value for one in refused]
    assert all(not all(one.statement.gate.values()) for one in refused)
    assert {one.value for one in judged if not one.refused} >= {"the mill", "the inn"}


def test_damaged_facts_and_chapters_break_nothing(inn):
    bad = {
        "id": "x", "seq": 1, "layer": "l", "kind": "fact", "step": 1.0, "text": None,
        "importance": None, "subject": None, "sources": None, "origin": "derived",
        "valid_from": 1.0, "valid_to": None, "closed_because": None,
        "superseded_by": None, "graded_at": None, "stale_since": None,
    }  # fmt: skip
    content = [
        None, [], {"subject": 1, "attribute": [], "value": {}, "speakers": 3, "since": "x"},
    ]  # fmt: skip
    for each in content:
        known = Past(
            [bad | {"content": each}, bad | {"kind": "chapter", "content": each}]
        )
        facts.facts(known, 2)
        assert len(chapters.told(known, 2).chapters) <= 1


def test_a_doubtful_summary_is_marked_with_the_reason(inn):
    rows = [row for row in past(inn, 1).rows if row["kind"] == "conversation"]
    row = next(row for row in rows if "doubtful" not in row["content"])
    assert "doubtful" not in columns([row])
    content = row["content"] | {"doubtful": "tells one of several events"}
    doubtful = row | {"content": content}
    assert "doubtful" in columns([row, doubtful])
    assert "tells one" in cell(doubtful, "doubtful")
