"""A record says itself where it came from: it happened, was derived, or was imported."""

import pytest

from mesa_memory import ImpressionMemory, Services, configure, fork, open_run, resume
from mesa_memory.interventions import edit, implant, swap
from mesa_memory.stores.copying import copy_file
from mesa_memory.viz.data import agent as memories
from mesa_memory.viz.data.contents import evidence
from tests.support.recorded_town import RecordedTown
from tests.users.test_mood import Street, feels

#: the kinds of what the town's memories make; all else happens
MADE = {"summary", "impression", "reflection"}


def town(file, steps, **given):
    made = RecordedTown(str(file), **given)
    for _ in range(steps):
        made.step()
    Services.of(made).flush()
    return made


def ended(model):
    Services.of(model).recorder.close()


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


def test_the_state_and_the_evidence_say_it_too(old):
    with open_run(str(old)) as run:
        first, second, *_ = run.unique_ids.values()
        held = run.state(first, as_records=True) + run.state(second, as_records=True)
        assert {row["origin"] for row in held} == {"event", "derived"}
        made = next(row for row in held if row["origin"] == "derived")
        because = run.provenance(made["id"], as_records=True)
        assert because[0]["origin"] == "derived" and because[-1]["origin"] == "event"
        for row in run.search("the market", k=None, as_records=True):
            assert row["origin"] == ("derived" if row["kind"] in MADE else "event")


def test_what_rests_on_no_record_is_derived_all_the_same(tmp_path):
    file = str(tmp_path / "run.sqlite")
    street = Street(rng=1, llm=feels("glad"))
    configure(street, record=file)
    for _ in range(4):
        street.step()
    ended(street)
    with open_run(file) as run:
        past = memories.past(run, 1)
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
    place.step()
    ended(place)
    known = {row["id"]: row["origin"] for row in records(file)}
    assert known[record.id] == known[edited.id] == "imported"
    again = resume(RecordedTown, str(file))
    held = {r.id: r.origin for r in again.citizens[0].memory.current_records()}
    assert held[edited.id] == "imported"
    ended(again)


def test_swapped_events_are_imported_and_conclusions_stay_derived(tmp_path):
    file = tmp_path / "run.sqlite"
    place = town(file, 8, n=14)
    minds = [c for c in place.citizens if isinstance(c.memory, ImpressionMemory)]
    one, other = minds
    swap(one, other)
    held = one.memory.current_records()
    assert {r.origin for r in held if r.kind in MADE} == {"derived"}
    assert {r.origin for r in held if r.kind not in MADE} == {"imported"}
    place.step()
    ended(place)
    held = {r.id: r.origin for r in one.memory.current_records()}
    again = resume(RecordedTown, str(file))
    mind = next(c for c in again.citizens if c.unique_id == one.unique_id)
    assert {r.id: r.origin for r in mind.memory.current_records()} == held
    ended(again)


def test_a_fork_has_the_origins_of_its_parent(old, tmp_path):
    file = tmp_path / "copy.sqlite"
    copy_file(old, file)
    ended(fork(RecordedTown, str(file), file=str(file)))
    origins = [{r["id"]: r["origin"] for r in records(file, n)} for n in (1, 2)]
    assert origins[0] == origins[1]
    assert set(origins[0].values()) == {"event", "derived"}
