"""The memory and the recalls of an agent at a step, for a notebook."""

from typing import Any

from IPython.display import HTML

from mesa_memory.experiments.reports.templates import COLOURS, template
from mesa_memory.runs import Run
from mesa_memory.runs.past import past, text_of
from mesa_memory.viz.data.agent import layer_views
from mesa_memory.viz.data.recall import recalls, understood

#: package of the templates
PACKAGE = "mesa_memory.viz.report"
#: number of records of a kind, and of candidates of a recall, that are shown
MAX_ROWS = 200


def memory_at(run: Run, agent: Any, step: float | None = None) -> HTML:
    """The memory of an agent at the end of a step, layer by layer.

    Args:
        agent: unique id or name.
        step: a finished step; None is the last one.

    Raises:
        ValueError: for an unknown agent or step; lists some that exist.
    """
    own, whose, at = _place(run, agent, step)
    title = f"{whose} remembered at the end of step {at:g}"
    layers = layer_views(past(run, own), at)
    page = template(PACKAGE, "notebook_memory.html")
    return HTML(page.render(title=title, layers=layers, text_of=text_of, most=MAX_ROWS))


def recalls_at(run: Run, agent: Any, step: float | None = None) -> HTML:
    """The recalls of an agent in a step, with the parts of each score.

    Args:
        agent: unique id or name.
        step: a finished step; None is the last one.

    Raises:
        ValueError: for an unknown agent or step; lists some that exist.
    """
    own, whose, at = _place(run, agent, step)
    remembered = past(run, own)
    found = [understood(row, remembered) for row in recalls(run, own, at)]
    title = f"Recalls of {whose} in step {at:g}"
    page = template(PACKAGE, "notebook_recalls.html")
    return HTML(page.render(title=title, recalls=found, colours=COLOURS, most=MAX_ROWS))


def _place(run: Run, agent: Any, step: float | None) -> tuple[Any, str, float]:
    """An agent's unique id and its name with the id, and a finished step.

    Raises as ``Run.prompt`` does.
    """
    run.prompt(agent, step)
    own = run.unique_ids[run.name_of(agent)]
    name = run.names.get(own)
    whose = f"Agent {own}" if name is None else f"{name} ({own})"
    return own, whose, run.steps[-1] if step is None else float(step)
