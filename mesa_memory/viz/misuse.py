"""Checks of a dashboard's arguments, before a page is drawn."""

from typing import Any

import solara

from mesa_memory.runtime.services import Services


def check_shown(model: Any, call: str) -> None:
    """Checks that a page gets a model.

    Args:
        model: or a reactive variable that holds it.
        call: the user's call, for the message.

    Raises:
        TypeError: if it is not a model.
    """
    model = peek(model)
    if isinstance(model, type):
        raise TypeError(
            f"{call} shows a model, got the class {model.__name__}: make one first, "
            f"{call}({model.__name__}(…))"
        )
    if not hasattr(model, "agents") or not hasattr(type(model), "step"):
        raise TypeError(
            f"{call} shows a Mesa model, got {model!r:.80}: write {call}(model)"
        )


def check_agents(model: Any, call: str) -> None:
    """Checks that a page has, or will have, memories to show.

    Raises:
        ValueError: if the model has neither agents nor a recorder.
    """
    model = peek(model)
    if not len(model.agents) and Services.of(model).recorder is None:
        raise ValueError(
            f"{call} shows memories of agents, and the {type(model).__name__} has no "
            "agents: make them in its __init__; or, if they come later, have it "
            "recorded from its first step on, configure(model, record=True)"
        )


def peek(model: Any) -> Any:
    """A model, or the one that a reactive variable holds."""
    return model.peek() if isinstance(model, solara.Reactive) else model
