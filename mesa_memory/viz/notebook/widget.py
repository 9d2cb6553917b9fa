"""A widget for notebooks: an agent's memory, with a slider for the step."""

from typing import Any

from ipywidgets import HTML, Dropdown, SelectionSlider, VBox

from mesa_memory.runs import Run
from mesa_memory.viz.data.agent import Past, past
from mesa_memory.viz.notebook.shown import called, memory_of, place, recalls_of


class RunWidget(VBox):
    """Shows the memory and the recalls of an agent at a step of a recorded run.

    Args:
        run: of ``open_run``; it must stay open.
        agent: unique id or name of the agent that is shown first; None is the first one.
        step: a finished step; None is the last one.

    Raises:
        ValueError: for an unknown agent or step, or without a finished step.
    """

    def __init__(self, run: Run, agent: Any = None, step: float | None = None) -> None:
        steps, known = run.steps, run.unique_ids
        if not steps or not known:
            raise ValueError(
                f"run {run.id} has not finished a step yet; show it after the first one"
            )
        own, at = place(run, next(iter(known)) if agent is None else agent, step)
        self._run = run
        self._read: tuple[Any, Past] | None = None
        names = run.names
        listed = [(called(one, names.get(one)), one) for one in known.values()]
        self._agents = Dropdown(options=listed, value=own, description="Agent")
        marks = [(f"{one:g}", one) for one in steps]
        self._steps = SelectionSlider(
            options=marks, value=at, description="Step", continuous_update=True
        )
        self._recalls, self._memory = HTML(), HTML()
        super().__init__([self._agents, self._steps, self._recalls, self._memory])
        for choice in (self._agents, self._steps):
            choice.observe(self._draw, "value")
        self._draw()

    @property
    def agent(self) -> Any:
        """Unique id of the agent that is shown."""
        return self._agents.value

    @property
    def step(self) -> float:
        """The step that is shown."""
        return self._steps.value

    def _draw(self, _: Any = None) -> None:
        if self._read is None or self._read[0] != self.agent:
            self._read = self.agent, past(self._run, self.agent)
        remembered = self._read[1]
        recalled = recalls_of(self._run, remembered, self.agent, self.step)
        self._recalls.value = recalled.data
        self._memory.value = memory_of(remembered, self._agents.label, self.step).data
