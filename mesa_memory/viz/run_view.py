"""What a view reads: one state of a recorded run."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from mesa_memory.llm.cost.usage import Budget
from mesa_memory.runs import Run
from mesa_memory.viz.data.activity import Activity, activity
from mesa_memory.viz.run_names import RunFacts, labels

T = TypeVar("T")


class Source:
    """A run as far as it had got; there is another object as soon as it has gone on.

    So a component that is given a source is rendered again exactly when there is
    something new, and a page shows one state of the run. Made by ``Feed.source``.

    Args:
        feed: the ``Feed`` that made it.

    Attributes:
        steps: the finished steps.
        agent_ids: the unique ids of the agents, in order.
        stamp: differs between two states of a run.
    """

    def __init__(
        self, feed: Any, steps: list[float], agent_ids: list[Any], stamp: tuple
    ) -> None:
        self._feed = feed
        self.steps, self.agent_ids, self.stamp = steps, agent_ids, stamp

    @property
    def run(self) -> Run:
        """The run, for data functions."""
        return self._feed.opened

    @property
    def key(self) -> str:
        """Stands for the run in addresses."""
        return self._feed.key

    @property
    def label(self) -> str:
        """What people read of the run, so that it is told from the page's others."""
        return labels(self._feed.all)[self._feed.key]

    @property
    def facts(self) -> RunFacts:
        """What tells the run from others."""
        assert self._feed.facts is not None, "a page without a run shows no views"
        return self._feed.facts

    @property
    def memory(self) -> str:
        """How the agents' memories are called."""
        return self._feed.memory

    @property
    def model(self) -> Any:
        """The model, to be asked and forked, if it runs in this process."""
        return self._feed.model

    @property
    def all(self) -> "Sequence[Source]":
        """The sources of all runs of the page, this one included."""
        return [feed.source for feed in self._feed.all]

    def called(self, agent: Any) -> str:
        """How people call an agent: ``Ada (4)``, or ``4`` if it has no name."""
        name = self.of(_names).get(agent, "")
        return f"{name} ({agent})" if name not in ("", str(agent)) else str(agent)

    def title(self, agent: Any) -> str:
        """What stands above or before what an agent did: ``Ada (4)``, or ``Agent 4``."""
        called = self.called(agent)
        return f"Agent {called}" if called == str(agent) else called

    @property
    def begun(self) -> bool:
        """True if ``activity`` has little left to read."""
        return self._feed.has_grown(activity)

    @property
    def budget(self) -> Budget | None:
        """What the model may use, if it runs in this process."""
        return self._feed.budget

    def of(self, function: Callable[..., T], *arguments: Any) -> T:
        """``function(run, *arguments)``, worked out once until there are new steps.

        Args:
            function: one of ``viz.data``. All sessions share what it gives, so nobody
                may change it.
            *arguments: hashable.

        Raises:
            StoreError, ValueError: of the function; nothing is kept then.
        """
        return self._feed.answer(self.stamp, function, *arguments)

    def grown(self, function: Callable[[Run, T | None], T]) -> T:
        """As ``of``, for a function that reads only what is new.

        Args:
            function: one of ``viz.data``; takes the run, and what it gave for an earlier
                state of it or None.

        Raises:
            StoreError: of the function; nothing is kept then.
        """
        return self._feed.grown(self.stamp, function)

    def activity(self) -> Activity:
        """What each agent did in each step; of new steps only what is new is read."""
        return self.grown(activity)


def _names(run: Run) -> dict[Any, str]:
    return run.names
