"""The memory and the recalls of an agent at a step, for a notebook."""

from typing import Any

from IPython.display import HTML

from mesa_memory.experiments.reports.templates import template
from mesa_memory.runs import Run
from mesa_memory.viz.data.agent import Past, layer_views, past, text_of
from mesa_memory.viz.data.recall import recalls, understood

#: package of the templates
PACKAGE = "mesa_memory.viz.notebook"
#: colours of the parts of a score, in their order; Okabe and Ito's
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
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
    own, at = place(run, agent, step)
    return memory_of(past(run, own), called(own, run.names.get(own)), at)


def recalls_at(run: Run, agent: Any, step: float | None = None) -> HTML:
    """The recalls of an agent in a step, with the parts of each score.

    Args:
        agent: unique id or name.
        step: a finished step; None is the last one.

    Raises:
        ValueError: for an unknown agent or step; lists some that exist.
    """
    own, at = place(run, agent, step)
    return recalls_of(run, past(run, own), own, at)


def memory_of(remembered: Past, whose: str, step: float) -> HTML:
    """See ``memory_at``; of an agent whose past was read."""
    title = f"{whose} remembered at the end of step {step:g}"
    layers = layer_views(remembered, step)
    page = template(PACKAGE, "memory.html")
    return HTML(page.render(title=title, layers=layers, text_of=text_of, most=MAX_ROWS))


def recalls_of(run: Run, remembered: Past, agent: Any, step: float) -> HTML:
    """See ``recalls_at``; of an agent whose past was read."""
    found = [understood(row, remembered) for row in recalls(run, agent, step)]
    title = f"Recalls of {called(agent, run.names.get(agent))} in step {step:g}"
    page = template(PACKAGE, "recalls.html")
    return HTML(page.render(title=title, recalls=found, colours=COLOURS, most=MAX_ROWS))


def called(agent: Any, name: str | None) -> str:
    """The name of an agent with its id.

    Args:
        agent: its unique id.
        name: None for an agent without one.
    """
    return f"Agent {agent}" if name is None else f"{name} ({agent})"


def place(run: Run, agent: Any, step: float | None) -> tuple[Any, float]:
    """An agent's unique id and a finished step; raises as ``Run.prompt`` does."""
    run.prompt(agent, step)
    at = run.steps[-1] if step is None else float(step)
    return run.unique_ids[run.name_of(agent)], at
