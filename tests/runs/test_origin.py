"""A record says itself where it came from: it happened, was derived, or was imported."""

import pytest

from mesa_memory import ImpressionMemory, ScriptedLLM, Services, open_run, resume
from mesa_memory.interventions import edit, exchange, implant
from mesa_memory.runs.past import past as past_of
from mesa_memory.viz.data import agent as memories
from mesa_memory.viz.views import evidence
from tests.support.mood import MoodMemory
from tests.support.playing import ended, lived, play
from tests.support.recorded_town import RecordedTown
from tests.support.street import Street

#: the kinds of what the town's memories make; all else happens
MADE = {"summary", "impression", "reflection"}


def town(file, steps, **given):
    made = lived(RecordedTown(str(file), **given), steps)
    Services.of(made).flush()
    return made


def records(file, number=1):
    with open_run(str(file), number) as run:
        people = run.unique_ids.values()
        return [r for who in people for r in run.history(agent=who, as_records=True)]


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    """A town's file after eight steps."""
    file = tmp_path_factory.mktemp("town") / "run.sqlite"
    ended(town(file, 8))
    return file


def test_what_happens_is_an_event_and_what_a_memory_makes_is_derived(old):
    rows = records(old)
    assert {row["kind"] for row in rows} >= MADE | {"message"}
    for row in rows:
        assert row["origin"] == ("derived" if row["kind"] in MADE else "event")


def test_what_rests_on_no_record_is_derived_all_the_same(tmp_path):
    file = str(tmp_path / "run.sqlite")
    llm = ScriptedLLM(rules={"temper": {"mood": "glad"}})
    ended(lived(Street(file, n=2, memory=MoodMemory, llm=llm), 4))
    with open_run(file) as run:
        past = past_of(run, 1)
        (mood,) = [row for row in past.rows if row["kind"] == "mood"]
        assert (mood["origin"], mood["sources"]) == ("derived", [])
        assert mood["text"] == "glad"
        (view,) = memories.layer_views(past, 4)
        assert [row["id"] for row, _ in view.texts] == [mood["id"]]
        assert [row["id"] for row in evidence.conclusions(past, 4)] == [mood["id"]]


def test_an_implanted_event_is_imported_and_stays_so(tmp_path):
    file = tmp_path / "run.sqlite"
    place = town(file, 4)
    mind = place.citizens[0]
    record = implant(mind, "message", {"message": "The mill burns!", "sender": 99})
    assert record.origin == "imported"
    edited = edit(mind, record, {"message": "The mill is safe.", "sender": 99})
    assert edited.origin == "imported"
    play(place, 1)
    known = {row["id"]: row["origin"] for row in records(file)}
    assert known[record.id] == known[edited.id] == "imported"
    again = resume(RecordedTown, str(file))
    held = {r.id: r.origin for r in again.citizens[0].memory.current_records()}
    assert held[edited.id] == "imported"
    ended(again)


def test_exchanged_events_are_imported_and_conclusions_stay_derived(tmp_path):
    file = tmp_path / "run.sqlite"
    place = town(file, 8, n=14)
    minds = [c for c in place.citizens if isinstance(c.memory, ImpressionMemory)]
    one, other = minds
    exchange(one, other)
    held = one.memory.current_records()
    assert {r.origin for r in held if r.kind in MADE} == {"derived"}
    assert {r.origin for r in held if r.kind not in MADE} == {"imported"}
    play(place, 1)
    held = {r.id: r.origin for r in one.memory.current_records()}
    again = resume(RecordedTown, str(file))
    mind = next(c for c in again.citizens if c.unique_id == one.unique_id)
    assert {r.id: r.origin for r in mind.memory.current_records()} == held
    ended(again)
