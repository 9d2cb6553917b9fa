"""How a page looks for new steps, and what a simulation notices of it."""

import threading
from contextlib import contextmanager

import pytest
import solara

from mesa_memory import Services, open_run
from mesa_memory.viz.live.model_run import live_feed
from mesa_memory.viz.selection import Choice
from mesa_memory.viz.serving.hooks import use_chosen, use_newest
from mesa_memory.viz.serving.live_run import LiveRun
from tests.support.recorded_town import RecordedTown
from tests.support.waiting import until


@pytest.fixture
def town():
    """A recorded town that has made a step."""
    made = RecordedTown("", record=True, n=3)
    made.step()
    yield made
    Services.of(made).recorder.close()


def test_a_live_run_is_looked_at_once_for_each_step(town):
    feed = live_feed(town)
    assert not feed.due(feed.source)
    town.step()
    shown = feed.source
    assert feed.due(shown)
    until(lambda: feed.look().steps == [1.0, 2.0])
    assert not feed.due(feed.source)
    assert feed.due(shown)  # another window has it already


def test_nobody_looks_during_the_rest_while_the_model_steps(town, monkeypatch):
    feed, looked = live_feed(town), []
    town.step()

    def in_the_midst_of_a_step():
        looked.append(feed.due(feed.source))
        with feed.pace.work():
            sum(range(100_000))
        looked.append(feed.due(feed.source))

    # After any work at all there is a rest of some seconds.
    monkeypatch.setattr(feed.pace, "share", 1e-6)
    monkeypatch.setattr(town.citizens[0], "step", in_the_midst_of_a_step)
    town.step()
    assert looked == [True, False]


def test_a_pause_is_noticed_although_there_is_a_rest(town):
    feed = live_feed(town)
    with feed.pace.work():
        town.step()
        sum(range(3_000_000))
    assert feed.pace.left > 1
    assert not feed.due(feed.source)
    until(lambda: feed.due(feed.source))


@contextmanager
def drawn(read):
    """A page that draws what a function of hooks gives."""

    @solara.component
    def Page():
        solara.Text(str(read()))

    _, context = solara.render(Page(), handle_error=False)
    try:
        yield
    finally:
        context.close()


def test_new_steps_are_rendered_and_not_by_the_thread_that_steps(town):
    feed, seen = live_feed(town), []

    def read():
        newest = use_newest(feed).source.steps[-1]
        seen.append((newest, threading.get_ident()))

    with drawn(read):
        seen.clear()
        for step in (2.0, 3.0, 4.0):
            town.step()
            until(lambda: seen and seen[-1][0] == step)
        assert threading.get_ident() not in {thread for _, thread in seen}


def test_the_last_steps_of_a_run_are_seen_although_it_has_ended(town):
    feed, seen = live_feed(town), []
    with drawn(lambda: seen.append(use_newest(feed).source.steps)):
        town.step()
        Services.of(town).recorder.close()
        until(lambda: seen[-1] == [1.0, 2.0])
        until(lambda: not feed.live)


def test_another_run_is_shown_from_its_first_state_on(town):
    other = RecordedTown("", record=True, n=3)
    feeds = [live_feed(town), live_feed(other)]
    which, seen = solara.Reactive(0), []

    def read():
        feed = feeds[which.value]
        seen.append((which.value, use_newest(feed).feed is feed))

    with drawn(read):
        which.value = 1
        which.value = 0
        assert {number for number, _ in seen} == {0, 1}
        assert all(fits for _, fits in seen)
    Services.of(other).recorder.close()


def test_a_past_step_stays_as_it_is_until_something_else_is_chosen(town):
    recorder = Services.of(town).recorder
    recorder.sync()
    feed = LiveRun(open_run(recorder.store), "town")

    def stepped():
        town.step()
        recorder.sync()
        return feed.refresh()

    first, choice = feed.source, Choice(step=1.0)
    now, seen = solara.Reactive((first, choice)), []
    with drawn(lambda: seen.append(use_chosen(*now.value))):
        second = stepped()
        now.value = second, choice
        assert seen[-1] is first
        now.value = second, Choice(step=1.0, agent="2")
        assert seen[-1] is second
        for choice in (Choice(), Choice(), Choice(step=6.0), Choice(step=6.0)):
            now.value = stepped(), choice  # step 6 is awaited
            assert seen[-1] is feed.source
