"""Looking for new steps in the background, for as long as a page is open."""

import threading
from dataclasses import dataclass, replace

import solara

from mesa_memory.errors import StoreError
from mesa_memory.viz.selection import Choice
from mesa_memory.viz.serving.live_run import LiveRun, RunState


@dataclass(frozen=True)
class Seen:
    """The state of a run on a page.

    Attributes:
        feed: of the run.
        source: its newest state.
        fault: the reason why it cannot be read now, or None.
        runs: number of runs of the page.
    """

    feed: LiveRun
    source: RunState
    fault: StoreError | None = None
    runs: int = 1


def use_newest(feed: LiveRun) -> Seen:
    """The newest state of a run; renders again whenever there is another one.

    Looking for new steps, reading and rendering them is work of a thread of the page;
    ``feed.pace`` bounds it.
    """
    first = solara.use_memo(
        lambda: Seen(feed, feed.source, None, len(feed.all)), [id(feed)]
    )
    held = solara.use_reactive(first)

    def watch(cancelled: threading.Event) -> None:
        going = True
        while going and not cancelled.wait(feed.nap):
            if held.peek().runs != len(feed.all):
                held.value = replace(held.peek(), runs=len(feed.all))
            # Once more after the end: the last steps may have come with it.
            going = feed.live
            if feed.due(held.peek().source):
                with feed.pace.work():
                    held.value = look(feed)

    solara.use_thread(watch, dependencies=[id(feed)], intrusive_cancel=False)
    # Another run may have been chosen since the thread of the last one has looked.
    return held.value if held.value.feed is feed else first


def look(feed: LiveRun) -> Seen:
    """The newest state of a run, and why it cannot be had."""
    try:
        return Seen(feed, feed.look(), None, len(feed.all))
    except StoreError as error:
        return Seen(feed, feed.source, error, len(feed.all))


def use_chosen(source: RunState, choice: Choice) -> RunState:
    """The state of a run that the views show.

    While someone looks at a past step, what is new there does not concern them; so it
    stays as it is until they choose something else.
    """
    held = solara.use_ref((choice, source))
    before, known = held.current
    past = choice.step is not None and known.steps and choice.step <= known.steps[-1]
    # A page without a run has no steps, and no run to be asked for.
    if not (past and source.steps and choice == before and known.run is source.run):
        held.current = (choice, source)
    return held.current[1]
