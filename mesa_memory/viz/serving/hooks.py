"""Looking for new steps in the background, for as long as a page is open."""

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import solara

from mesa_memory.errors import StoreError
from mesa_memory.viz.selection import Choice
from mesa_memory.viz.serving.run_feed import Feed, Source

#: steps that follow each other in fewer seconds come often
OFTEN_S = 0.1
#: registers a function that is called after each step; returns one that ends this
type Told = Callable[[Callable[[], None]], Callable[[], None]]


@dataclass(frozen=True)
class Seen:
    """The state of a run on a page.

    Attributes:
        feed: of the run.
        source: its newest state.
        fault: the reason why it cannot be read now, or None.
        runs: number of runs of the page.
    """

    feed: Feed
    source: Source
    fault: StoreError | None = None
    runs: int = 1


class Updates:
    """Times at which the thread of the simulation announced new steps.

    Rendering is left to a thread that already renders. A simulation that asks again and
    again would never let that thread finish; so while steps come often, the thread of
    the simulation renders.
    """

    def __init__(self) -> None:
        self._last, self._gap = -math.inf, math.inf

    def note(self) -> None:
        """The page is told now."""
        now = time.monotonic()
        self._last, self._gap = now, now - self._last

    @property
    def often(self) -> bool:
        """True while one step follows another."""
        return self._gap < OFTEN_S and time.monotonic() - self._last < 2 * OFTEN_S

    @property
    def settled(self) -> bool:
        """True if another thread may render."""
        return not self.often and time.monotonic() - self._last > OFTEN_S / 2


def use_newest(feed: Feed, told: Told | None = None) -> Seen:
    """The newest state of a run; renders again whenever there is another one.

    Looking for new steps, reading and rendering them is work of a thread of the page,
    or of the simulation if it steps often; ``feed.pace`` bounds it.

    Args:
        feed: of the run.
        told: registers a function that is called after each step, and returns a
            function that ends this; None without announcements.
    """
    first = solara.use_memo(
        lambda: Seen(feed, feed.source, None, len(feed.all)), [id(feed)]
    )
    held = solara.use_reactive(first)
    updates = solara.use_memo(Updates, [id(feed)])

    def look_if_due() -> None:
        if feed.due(held.peek().source):
            with feed.pace.work():
                held.value = look(feed)

    def watch(cancelled: threading.Event) -> None:
        going = True
        while going and not cancelled.wait(feed.nap):
            if held.peek().runs != len(feed.all):
                held.value = replace(held.peek(), runs=len(feed.all))
            # Once more after the end: the last steps may have come with it.
            going = feed.live
            if updates.settled:
                look_if_due()

    def stepped() -> None:
        updates.note()
        if updates.often:
            look_if_due()

    solara.use_effect(lambda: told(stepped) if told else None, [id(feed), told])
    solara.use_thread(watch, dependencies=[id(feed)], intrusive_cancel=False)
    # Another run may have been chosen since the thread of the last one has looked.
    return held.value if held.value.feed is feed else first


def look(feed: Feed) -> Seen:
    """The newest state of a run, and why it cannot be had."""
    try:
        return Seen(feed, feed.look(), None, len(feed.all))
    except StoreError as error:
        return Seen(feed, feed.source, error, len(feed.all))


def use_chosen(source: Source, choice: Choice) -> Source:
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
