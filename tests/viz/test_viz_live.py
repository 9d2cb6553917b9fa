"""What can be shown of a running model, and what cannot."""

from mesa_memory import Services
from mesa_memory.viz.live.page_runs import NOT_RECORDED, live_feed
from tests.support.live_pages import Others
from tests.support.recorded_town import RecordedTown


def test_a_recorded_model_is_shown_as_far_as_it_has_got():
    town = RecordedTown("", record=True, n=3)
    feed = live_feed(town)
    assert (feed.notes, feed.source.steps, feed.live) == ([], [], True)
    town.step()
    assert feed.refresh().steps == [1.0]
    Services.of(town).recorder.close()
    assert feed.refresh().steps == [1.0]
    assert not feed.live


def test_a_model_that_has_not_begun_is_recorded_in_memory(monkeypatch):
    model = Others(ours=2, theirs=0, none=0)
    feed = live_feed(model)
    model.step()
    assert feed.refresh().steps == [1.0]
    assert feed.source.agent_ids == [1, 2]
    Services.of(model).recorder.close()


def test_a_model_that_has_begun_unrecorded_says_what_to_do():
    model = Others(ours=1, theirs=0, none=0)
    model.step()
    feed = live_feed(model)
    assert feed.run is None
    assert feed.notes == [NOT_RECORDED]
    assert not feed.live
    assert Services.of(model).recorder is None


def test_agents_with_other_memories_are_named():
    model = Others(ours=1, theirs=2, none=3)
    feed = live_feed(model)
    (note,) = feed.notes
    assert "5 of 6 agents cannot be shown" in note
    assert "3 no memory" in note
    assert "2 mesa_llm's STLTMemory" in note
    Services.of(model).recorder.close()
    feed = live_feed(Others(ours=0, theirs=1, none=0))
    assert feed.run is None  # there is nothing to record
    assert "1 mesa_llm's STLTMemory" in feed.notes[1]
