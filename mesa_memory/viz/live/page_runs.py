"""The runs of a live page: of the model it began with, and of all that Reset has made."""

import threading
from typing import Any

import solara

from mesa_memory.viz.live.model_run import live_feed
from mesa_memory.viz.live.step_lock import locks, take_turns
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.serving.live_run import LiveRun, give_keys

_making = threading.Lock()


class PageRuns:
    """The models of a page, oldest first; all sessions of the page share them.

    Attributes:
        feeds: of each model, in the same order.
    """

    def __init__(self) -> None:
        self.feeds: list[LiveRun] = []
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

    def show(self, model: Any) -> LiveRun:
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
