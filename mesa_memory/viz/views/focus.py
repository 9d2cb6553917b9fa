"""The part of a run that a view shows."""

from dataclasses import dataclass
from typing import Any

from mesa_memory.viz.data import agent as memories
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.serving.run_feed import Source
from mesa_memory.viz.widgets.timeline import number


@dataclass(frozen=True)
class Focus:
    """An agent at a step of a run; every view is called with one.

    Attributes:
        source: the state of the run.
        selection: all other choices of the session.
        agent: unique id of the chosen agent.
        step: the chosen finished step.
    """

    source: Source
    selection: Selection
    agent: Any
    step: float

    @property
    def name(self) -> str:
        """The agent's name for people, see ``Source.called``."""
        return self.source.called(self.agent)

    @property
    def title(self) -> str:
        """The agent's name as the beginning of a sentence, see ``Source.title``."""
        return self.source.title(self.agent)

    @property
    def past(self) -> memories.Past:
        """All records that the agent ever had."""
        return self.source.of(memories.past, self.agent)

    @property
    def previous(self) -> float:
        """The finished step before; ``reading.BEFORE_ALL`` if this is the first."""
        return memories.previous(self.source.steps, self.step)

    def file(self, name: str) -> str:
        """The name of a file about the agent at the step."""
        return f"agent-{self.agent}-step-{number(self.step)}-{name}"

    def of(self, function: Any) -> Any:
        """``function(run, agent, step)``, see ``Source.of``."""
        return self.source.of(function, self.agent, self.step)
