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
OFTEN = 0.1
#: has a function called after each step, until what it gives is called
type Told = Callable[[Callable[[], None]], Callable[[], None]]


@dataclass(frozen=True)
class Seen:
    """What a page knows of a run.

    Attributes:
        feed: of the run.
        source: its newest state.
        fault: why it cannot be read now; None if it can.
        runs: how many runs the page has.
    """

    feed: Feed
    source: Source
    fault: StoreError | None = None
    runs: int = 1


class Updates:
    """When the page of a model was told of new steps by the thread that makes them.

    Rendering that finds another thread at it is left to that thread. If the simulation
    asked for it again and again in the meantime, that thread would never be done; so
    while steps come often, the simulation's thread itself renders what is new.
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
        return self._gap < OFTEN and time.monotonic() - self._last < 2 * OFTEN

    @property
    def settled(self) -> bool:
        """True if another thread may render."""
        return not self.often and time.monotonic() - self._last > OFTEN / 2


def use_newest(feed: Feed, told: Told | None = None) -> Seen:
    """The newest state of a run; renders again whenever there is another one.

    Looking for new steps, reading and rendering them is work of a thread of the page,
    or of the simulation if it steps often; ``feed.pace`` bounds it.

    Args:
        feed: of the run.
        told: has a function called after each step that this page is told of, until
            what it gives is called; None if nobody tells.
    """
    first = solara.use_memo(
        lambda: Seen(feed, feed.source, None, len(feed.all)), [id(feed)]
    )
    held = solara.use_reactive(first)
    updates = solara.use_memo(Updates, [id(feed)])
    # Whoever renders: it costs as much there.
    solara.use_effect(feed.pace.begin(), [id(held.value)])

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
            feed.delays()
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
