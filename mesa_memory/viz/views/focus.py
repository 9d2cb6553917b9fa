"""The part of a run that a view shows, and the ways from there to other views."""

from dataclasses import dataclass
from typing import Any

from mesa_memory.runs.past import Past, past
from mesa_memory.viz.data import agent as memories
from mesa_memory.viz.selection import NEWEST, Selection
from mesa_memory.viz.serving.live_run import RunState
from mesa_memory.viz.widgets.timeline import number

#: longest text that is looked for: an address has to hold it
MAX_SPREAD_CHARS = 400


@dataclass(frozen=True)
class Focus:
    """An agent at a step of a run; every view is called with one.

    Attributes:
        source: the state of the run.
        selection: all other choices of the session.
        agent: unique id of the chosen agent.
        step: the chosen finished step.
    """

    source: RunState
    selection: Selection
    agent: Any
    step: float

    @property
    def name(self) -> str:
        """The agent's name for people, see ``RunState.called``."""
        return self.source.called(self.agent)

    @property
    def title(self) -> str:
        """The agent's name as the beginning of a sentence, see ``RunState.title``."""
        return self.source.title(self.agent)

    @property
    def past(self) -> Past:
        """All records that the agent ever had."""
        return self.source.of(past, self.agent)

    @property
    def at(self) -> str:
        """The step as people write it."""
        return number(self.step)

    @property
    def previous(self) -> float:
        """The finished step before; ``BEFORE_ALL`` if this is the first."""
        return memories.previous(self.source.steps, self.step)

    def file(self, name: str) -> str:
        """The name of a file about the agent at the step."""
        return f"agent-{self.agent}-step-{self.at}-{name}"

    def of(self, function: Any) -> Any:
        """``function(run, agent, step)``, see ``RunState.of``."""
        return self.source.of(function, self.agent, self.step)

    @property
    def called(self) -> dict[str, Any]:
        """The column of a table with the name of a row's agent."""
        return {"agent": lambda row: self.source.called(row["agent"])}

    def chosen(self, option: str, key: str, mark: str) -> dict[str, Any]:
        """Arguments of a ``Table``: a click on a row chooses it, and it has a mark.

        Args:
            option: has the ``id`` of the chosen row in the address.
            key: the ``id`` of the row that is shown.
            mark: where it is shown.
        """
        return {
            "marked": lambda row: row["id"] == key,
            "mark": mark,
            "on_pick": lambda row: self.selection.set_option(option, row["id"]),
        }

    # Ways to other views, each one entry in the browser's history.

    def to_evidence(self, record: str, agent: Any = None) -> None:
        """Shows the sources of a record.

        Args:
            agent: whose record it is; None is the chosen one.
        """
        options = self.selection.with_option("record", record)
        whose = self.agent if agent is None else agent
        self.selection.choose(view="evidence", agent=whose, options=options)

    def to_request(self, request: str) -> None:
        """Shows a request of the agent in the step, with its reply."""
        options = self.selection.with_option("request", request)
        self.selection.choose(
            view="requests", agent=self.agent, step=self.step, options=options
        )

    def to_spread(self, text: str, agent: Any, step: float) -> None:
        """Shows the holders of a text at a step."""
        words = text.strip()[:MAX_SPREAD_CHARS]
        self.selection.choose(view="spread", text=words, agent=agent, step=step)

    def to_agent(self, agent: Any, since: float) -> None:
        """Shows an agent's memory at the first finished step from ``since`` on."""
        step = min((s for s in self.source.steps if s >= since), default=NEWEST)
        self.selection.choose(view="agent", agent=agent, step=step)
