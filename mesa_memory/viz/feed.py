"""Where sources come from: a run that is looked at again and again while it goes on."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from mesa_memory.llm.ledger import Budget
from mesa_memory.runs import Run
from mesa_memory.viz.data import reading
from mesa_memory.viz.data.activity import Activity, activity
from mesa_memory.viz.source import Source

#: so many answers are kept
KEPT = 48


class Feed:
    """A run, and what was worked out of it; one object serves many sessions.

    Args:
        run: None if there is nothing to be read; ``notes`` say why.
        label: how people call it.
        notes: what cannot be shown and what to do, a sentence each.

    Attributes:
        source: the newest state that is known.
        counted: the newest activity that was counted.
        all: every feed of the page, this one included.
    """

    def __init__(self, run: Run | None, label: str, notes: Sequence[str] = ()) -> None:
        self.run, self.label, self.notes = run, label, list(notes)
        self.source = Source(self, [], [], ())
        self.counted: Activity | None = None
        self.all: Sequence[Feed] = (self,)
        self._stamp: tuple = ()
        self._ended = run is None
        self._kept: OrderedDict[tuple, tuple[tuple, Any]] = OrderedDict()
        self._lock, self._counting = threading.Lock(), threading.Lock()
        self._looking = threading.Lock()
        self.refresh()

    @property
    def budget(self) -> Budget | None:
        """What a model that runs in this process may use; None of all others."""
        return None

    @property
    def opened(self) -> Run:
        """The run, which must be there."""
        assert self.run is not None, "a page without a run shows no views"
        return self.run

    @property
    def live(self) -> bool:
        """True while new steps may come."""
        return not self._ended

    def refresh(self) -> Source:
        """Looks for new steps; the source afterwards.

        Raises:
            StoreError: if the run cannot be read.
        """
        if self.run is None:
            return self.source
        with self._looking:
            # The state first: a run that ends meanwhile is looked at once more.
            ended = self.run.status != "running"
            steps = self.run.steps
            stamp = (len(steps), steps[-1] if steps else None)
            if stamp != self.source.stamp:
                agents = list(reading.names(self.run).values())
                self.source = Source(self, steps, agents, stamp)
            self._ended = ended
            return self.source

    def answer(self, stamp: tuple, function: Callable[..., Any], *given: Any) -> Any:
        """See ``Source.of``."""
        key = (function, *given)
        with self._lock:
            found = self._kept.get(key)
            if found and found[0] == stamp:
                self._kept.move_to_end(key)
                return found[1]
        value = function(self.opened, *given)
        with self._lock:
            self._kept[key] = (stamp, value)
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return value

    def activity(self, stamp: tuple) -> Activity:
        """See ``Source.activity``."""
        with self._counting:
            if self.counted is None or self._stamp != stamp:
                self.counted = activity(self.opened, self.counted)
                self._stamp = stamp
            return self.counted

    def close(self) -> None:
        """Lets go of the store."""
        if self.run is not None:
            self.run.close()
