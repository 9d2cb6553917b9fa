"""The runs of a live page: of the model it began with, and of all that Reset has made."""

import threading
from collections.abc import Callable
from typing import Any

import solara
import solara.lab

from mesa_memory.hosts.mesa.model import clock
from mesa_memory.hosts.solara import redraw, redraws
from mesa_memory.viz.live.live_run import live_feed
from mesa_memory.viz.live.step_lock import is_over, locks, take_turns
from mesa_memory.viz.run_names import give_keys
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.serving.run_feed import Feed

_making = threading.Lock()


class PageRuns:
    """The models of a page, oldest first; all sessions of the page share them.

    Args:
        record: record models in memory that nobody records.

    Attributes:
        feeds: what is recorded of each model, in the same order.
    """

    def __init__(self, record: bool = True) -> None:
        self.feeds: list[Feed] = []
        self._record, self._models = record, list[Any]()
        self._goals: dict[str, float] = {}
        self._lock, self._stepping = threading.RLock(), threading.Lock()

    @classmethod
    def of(cls, model: Any, record: bool = True) -> "PageRuns":
        """The runs of the page that shows this model, made on first use.

        They hang on the model, and live as long as it does.
        """
        with _making:
            take_turns(model)
            around = locks(model)
            known = next((lock.page for lock in around if lock.page is not None), None)
            page = known or cls(record)
            around[-1].page = page
        page.show(model)
        return page

    def show(self, model: Any) -> Feed:
        """What is recorded of a model, which belongs to the page from now on."""
        with self._lock:
            for known, feed in zip(self._models, self.feeds):
                if known is model:
                    return feed
            take_turns(model)
            locks(model)[-1].page = self
            feed = live_feed(model, self._record)
            self._models.append(model)
            self.feeds.append(feed)
            give_keys(self.feeds)
            feed.all = self.feeds
            return feed

    def model(self, key: str) -> Any:
        """The model of the run with this key; None if the page has none."""
        with self._lock:
            pairs = zip(self._models, self.feeds)
            return next((model for model, feed in pairs if feed.key == key), None)

    @property
    def newest(self) -> Any:
        """The model that was made last."""
        with self._lock:
            return self._models[-1]

    def repeat(self, key: str, steps: float) -> None:
        """Has a run played until it is as long as this; 0 ends that."""
        self._goals[key] = steps

    def goal(self, key: str) -> float:
        """Until which step a run is to be played; 0 if it is not."""
        return self._goals.get(key, 0)

    def left(self, key: str) -> bool:
        """True while steps of the goal are to be made."""
        model = self.model(key)
        if model is None or not model.running or is_over(model):
            return False
        return clock(model) < self.goal(key)

    def play(self, key: str) -> None:
        """Makes one step towards the goal, also if several pages want it at once."""
        with self._stepping:
            if self.left(key):
                self.model(key).step()


class Current:
    """The model that a page plays: the one of the run that was chosen last.

    What is chosen counts for whoever asks from then on, also while the page is still being
    drawn: a press goes to no run that was left before it.

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


def use_named(feed: Feed, selection: Selection) -> None:
    """Has the address name the run of a new model, so that it is found again by it."""
    before = solara.use_ref(feed.key)

    def name() -> None:
        if before.current != feed.key:
            before.current = feed.key
            selection.choose(run=feed.key)

    solara.use_effect(name, [feed.key])


def use_repeated(page: PageRuns, current: Current, wanted: bool) -> None:
    """Plays a model that Reset has made until it is as old as the one before.

    Args:
        page: of the models.
        current: says which one the page plays.
        wanted: False leaves the new one at its beginning.
    """
    before: Any = solara.use_ref(current.value)
    known: Any = solara.use_ref(len(page.feeds))

    def begin() -> None:
        old, before.current = before.current, current.value
        made, known.current = len(page.feeds) > known.current, len(page.feeds)
        fresh = made and old is not current.value and not clock(current.value)
        if wanted and fresh and clock(old):
            page.repeat(page.show(current.value).key, clock(old))
            redraw()

    solara.use_effect(begin, [id(current.value)])


@solara.component
def Repeating(page: PageRuns, key: str) -> Any:
    """Makes the steps that a run is to have, and says how far that is."""
    redraws()
    goal = page.goal(key)

    def play() -> None:
        while page.left(key):
            page.play(key)
            redraw()

    task = solara.lab.use_task(play, dependencies=[key, goal])
    if task.error:
        page.repeat(key, 0)
        raise task.exception  # type: ignore[misc]  # there is one
    if page.left(key):
        _Progress(clock(page.model(key)), goal, lambda: page.repeat(key, 0))


@solara.component
def _Progress(done: float, goal: float, on_stop: Callable[[], None]) -> Any:
    solara.v.ProgressLinear(
        value=100 * done / goal, attributes={"aria-label": "Steps played"}
    )
    solara.Text(f"Playing the same {goal:g} steps: {done:g} are done.")
    solara.Button("Stop here", on_click=on_stop, text=True, small=True)
