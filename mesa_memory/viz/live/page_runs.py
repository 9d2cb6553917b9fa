"""The runs of a live page: of the model it began with, and of all that Reset has made."""

import threading
from functools import partial
from typing import Any

import solara

from mesa_memory.core.by_identity import ByIdentity
from mesa_memory.viz.live.model_run import live_feed, record
from mesa_memory.viz.live.step_lock import locks, on_page, session, take_turns
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.serving.live_run import LiveRun, give_keys

_making = threading.RLock()
#: the models that each session has shown or stepped, in order
_models: ByIdentity[list[Any]] = ByIdentity()


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

        They belong to the model, and live as long as it does. Models of its class that the
        session has stepped before, while nothing showed them, are among them.
        """
        with _making:
            shown = _of_session(model)
            around = [lock for one in shown for lock in locks(one)]
            known = next((lock.page for lock in around if lock.page is not None), None)
            page = known or cls()
            around[-1].page = page
        for one in shown:
            page.show(one)
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


def _of_session(model: Any) -> list[Any]:
    """The models of the same class that this thread's session knows, with this one."""
    take_turns(model)
    own = session()
    with _making:
        known = [] if own is None else _models.setdefault(own, [])
        if not any(one is model for one in known):
            known.append(model)
        return [one for one in known if type(one) is type(model)]


def record_from_first_step(model: Any) -> None:
    """Has an unrecorded model recorded in memory as soon as a page steps it."""
    take_turns(model)
    locks(model)[-1].before = partial(_record_for_page, model)


def _record_for_page(model: Any) -> None:
    if on_page():
        record(model)
        _of_session(model)


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
