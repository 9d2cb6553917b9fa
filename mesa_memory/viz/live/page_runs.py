"""The runs of a live page: of the model it began with, and of all that Reset has made."""

import threading
import time
from collections import Counter
from collections.abc import Iterable
from typing import Any, cast

import solara

from mesa_memory.hosts.mesa.model import clock
from mesa_memory.runs import open_run
from mesa_memory.runs.recording.attachment import start
from mesa_memory.runs.recording.config import Recording
from mesa_memory.runs.recording.recorder import Recorder
from mesa_memory.runtime.services import Services
from mesa_memory.viz.live.step_lock import locks, take_turns
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.serving.run_feed import (
    LOOK_INTERVAL_S,
    SHARE_BESIDE,
    Feed,
    Pace,
    Source,
    give_keys,
)

_making = threading.Lock()


class PageRuns:
    """The models of a page, oldest first; all sessions of the page share them.

    Attributes:
        feeds: of each model, in the same order.
    """

    def __init__(self) -> None:
        self.feeds: list[Feed] = []
        self._models: list[Any] = []
        self._lock = threading.RLock()

    @classmethod
    def of(cls, model: Any) -> "PageRuns":
        """The runs of the page that shows this model, made on first use.

        They hang on the model, and live as long as it does.
        """
        with _making:
            take_turns(model)
            around = locks(model)
            known = next((lock.page for lock in around if lock.page is not None), None)
            page = known or cls()
            around[-1].page = page
        page.show(model)
        return page

    def show(self, model: Any) -> Feed:
        """The feed of a model, which belongs to the page from now on."""
        with self._lock:
            for known, feed in zip(self._models, self.feeds):
                if known is model:
                    return feed
            take_turns(model)
            locks(model)[-1].page = self
            feed = live_feed(model)
            self._models.append(model)
            self.feeds.append(feed)
            give_keys(self.feeds)
            feed.all = self.feeds
            return feed

    def model(self, key: str) -> Any:
        """The model of the run with this key, or None."""
        with self._lock:
            pairs = zip(self._models, self.feeds)
            return next((model for model, feed in pairs if feed.key == key), None)

    @property
    def newest(self) -> Any:
        """The model that was made last."""
        with self._lock:
            return self._models[-1]


class Current:
    """The model that a page plays: the one of the run that was chosen last.

    A choice counts at once, also while the page is still being drawn: a press never goes
    to the run before.

    Args:
        page: of the models.
        selection: of this session.
        held: the model while the address names none of the page's runs.
    """

    def __init__(
        self, page: PageRuns, selection: Selection, held: solara.Reactive[Any]
    ) -> None:
        self._page, self._selection, self._held = page, selection, held

    @property
    def value(self) -> Any:
        """The model; read in a component, it has that follow it."""
        wanted = self._page.model(self._selection.choice.run)
        return self._held.value if wanted is None else wanted

    def begin(self, model: Any) -> None:
        """Goes on with a new model; the address names its run."""
        key = self._page.show(model).key
        self._held.set(model)
        self._selection.choose(run=key)


def use_current(page: PageRuns, selection: Selection) -> Current:
    """The model that a page plays: the one of the run in the address, else the newest."""
    first = solara.use_memo(lambda: page.model(selection.choice.run) or page.newest, [])
    held = solara.use_reactive(first)
    current = solara.use_memo(lambda: Current(page, selection, held), [])
    model = current.value
    # An address that names no run stays with the one that was shown before.
    solara.use_effect(lambda: held.set(model), [id(model)])
    return current


#: seconds between two questions to the recorder
TICK_S = 0.03
#: seconds without a step after which a simulation is paused
PAUSE_S = 0.1
NOT_RECORDED = (
    "This model is not recorded, so its past cannot be shown. Call configure(model, "
    "record=True) before its agents are made; record='run.sqlite' keeps the run."
)


class LiveFeed(Feed):
    """The recorded part of a model's run; a step is there as soon as it is finished."""

    def __init__(self, recorder: Recorder, label: str, notes: Iterable[str]) -> None:
        self._recorder = recorder
        self._step = recorder.step  # the last known one
        self._since = time.monotonic()
        run = open_run(recorder.store, recorder.run)
        super().__init__(run, label, [*notes], Pace(SHARE_BESIDE))

    @property
    def model(self) -> Any:
        """See ``Feed``."""
        return self._recorder.model if self._recorder.active else None

    @property
    def nap(self) -> float:
        """See ``Feed``; to ask the recorder costs next to nothing."""
        return TICK_S if self._recorder.active else LOOK_INTERVAL_S

    def due(self, shown: Source) -> bool:
        """See ``Feed``: there is a newer step, and the simulation will not notice."""
        step, now = self._recorder.step, time.monotonic()
        if step != self._step:
            self._since, self._step = now, step
        if shown is not self.source or not self._recorder.active:
            return True  # another window has looked, or the run is over
        if step is None or (shown.steps and shown.steps[-1] == step):
            return False
        paused = self._recorder.stands and now - self._since > PAUSE_S
        return paused or not self.pace.left

    def look(self) -> Source:
        """See ``Feed``; between two steps it waits, and so finds out if a store fails.

        Raises:
            StoreError: if the store fails, or cannot be read.
        """
        return self.refresh() if self._recorder.stands else super().refresh()

    def refresh(self) -> Source:
        """Waits until the finished steps are written, then reads them."""
        if self._recorder.active:
            self._recorder.sync()
        return super().refresh()


def live_feed(model: Any) -> Feed:
    """The feed of a model; an unrecorded one that has not begun is recorded in memory."""
    label, notes = type(model).__name__, strangers(model)
    services = Services.of(model)
    if services.recorder is None and _untouched(model):
        services.recorder = start(model, services, Recording(True))
    if services.recorder is None:
        return Feed(None, label, [NOT_RECORDED, *notes])
    return LiveFeed(cast(Recorder, services.recorder), label, notes)


def strangers(model: Any) -> list[str]:
    """A sentence about agents whose memories cannot be shown, if there are any."""
    kinds = Counter(
        "no memory"
        if memory is None
        else f"{type(memory).__module__.partition('.')[0]}'s {type(memory).__name__}"
        for memory in (getattr(agent, "memory", None) for agent in model.agents)
        if not _ours(memory)
    )
    if not kinds:
        return []
    count, total = sum(kinds.values()), len(model.agents)
    have = ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items()))
    return [
        (
            f"{count} of {total} agents cannot be shown; they have: {have}. Memories "
            "of mesa_memory have the same names: from mesa_memory import STLTMemory."
        )
    ]


def _ours(memory: Any) -> bool:
    # The same test as the recorder's: a memory need not be a subclass of ours.
    return hasattr(memory, "layer") and hasattr(memory, "current_records")


def _untouched(model: Any) -> bool:
    """True if a record can begin now without missing anything."""
    memories = (getattr(agent, "memory", None) for agent in model.agents)
    ours: list[Any] = [memory for memory in memories if _ours(memory)]
    return (
        bool(ours) and not clock(model) and not any(m.current_records() for m in ours)
    )
