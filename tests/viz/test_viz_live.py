"""What can be shown of a running model, and what cannot."""

import copy
import gc
import threading

import pytest

from mesa_memory import Services
from mesa_memory.viz import make_memory_component
from mesa_memory.viz.live.model_run import live_feed
from mesa_memory.viz.live.page_runs import PageRuns
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


@pytest.mark.parametrize("steps", [1, 6])
def test_the_record_of_a_model_that_was_stepped_before_begins_with_its_memories(steps):
    model = Others(ours=1, theirs=0, none=0)
    for _ in range(steps):
        model.step()
    feed = live_feed(model)
    (note,) = feed.notes
    assert f"The record begins with step {steps}, with the memories as they" in note
    assert feed.source.steps == [steps]
    held = feed.run.state(1, steps, as_records=True)
    assert len(held) == len(model.agents[0].memory.current_records()) == steps
    model.step()
    assert feed.refresh().steps == [steps, steps + 1]
    assert live_feed(model).notes == feed.notes
    Services.of(model).recorder.close()


def test_events_before_the_first_step_belong_to_it():
    model = Others(ours=1, theirs=0, none=0)
    model.agents[0].memory.add_to_memory("observation", {"seen": "a born sailor"})
    feed = live_feed(model)
    model.step()
    assert (feed.notes, feed.refresh().steps) == ([], [1])
    assert "a born sailor" in feed.run.state(1, 1, as_records=True)[0]["text"]
    Services.of(model).recorder.close()


@pytest.mark.parametrize("before", ["model", "component"])
def test_a_listed_component_records_from_the_first_step_before_it_is_drawn(before):
    made = [] if before == "component" else [Others(ours=2, theirs=0, none=1)]
    component = make_memory_component(page=1)
    model, again = (*made, *(Others(ours=2, theirs=0, none=1) for _ in "ab"))[:2]
    for one in (model, again):
        one.step()
        one.step()
        feed = live_feed(one)
        assert feed.source.steps == [1, 2]
        assert "begins" not in str(feed.notes)
        Services.of(one).recorder.close()
    del component
    gc.collect()
    unseen = Others(ours=2, theirs=0, none=1)
    unseen.step()
    assert Services.of(unseen).recorder is None


@pytest.mark.parametrize("place", ["page", "study", "copy"])
def test_beside_a_page_only_the_models_that_it_steps_are_recorded(place, monkeypatch):
    component = make_memory_component(page=1)
    model = Others(ours=2, theirs=0, none=1)
    monkeypatch.setattr("mesa_memory.hosts.solara.server_runs", lambda: True)
    session = threading.Event() if place == "page" else None
    monkeypatch.setattr("mesa_memory.hosts.solara.current_session", lambda: session)
    monkeypatch.setattr("mesa_memory.hosts.solara.is_closed", lambda session: False)
    monkeypatch.setattr("mesa_memory.hosts.solara.is_seen", lambda session: True)
    stepped = copy.deepcopy(model) if place == "copy" else model
    thread = threading.Thread(target=stepped.step)  # the session stays with its thread
    thread.start()
    thread.join()
    assert stepped.steps == 1 and component[1] == 1
    recorder = Services.of(stepped).recorder
    assert (recorder is not None) == (place == "page")
    if recorder is not None:
        recorder.close()


@pytest.mark.parametrize("shown", [0, 1, 2])
def test_a_reset_while_no_tab_shows_the_memories_keeps_the_runs_before(
    shown, monkeypatch
):
    component = make_memory_component(page=1)
    session = threading.Event()
    monkeypatch.setattr("mesa_memory.hosts.solara.server_runs", lambda: True)
    monkeypatch.setattr("mesa_memory.hosts.solara.current_session", lambda: session)
    monkeypatch.setattr("mesa_memory.hosts.solara.is_closed", lambda session: False)
    monkeypatch.setattr("mesa_memory.hosts.solara.is_seen", lambda session: True)
    models = [Others(ours=2, theirs=0, none=0) for _ in "abc"]
    for place, model in enumerate(models):
        model.step()
        if place == shown:
            PageRuns.of(model)
    page = PageRuns.of(models[-1])
    assert [page.model(feed.key) for feed in page.feeds] == models
    assert all(PageRuns.of(model) is page for model in models)
    session = threading.Event()  # another window, of another model
    other = Others(ours=2, theirs=0, none=0)
    other.step()
    assert len(PageRuns.of(other).feeds) == 1
    for model in (*models, other):
        Services.of(model).recorder.close()
    assert component[1] == 1


@pytest.mark.parametrize("record", [True, "file"])
def test_a_listed_component_leaves_a_models_own_record_alone(record, tmp_path):
    component = make_memory_component()
    place = str(tmp_path / "own.sqlite") if record == "file" else record
    model = Others(ours=2, theirs=0, none=0, record=place)
    own = Services.of(model).recorder
    model.step()
    assert Services.of(model).recorder is own
    own.close()
    assert component[1] == 0


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
