"""The buttons of a live page: Reset, play and Step."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import solara
import solara.lab

from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.hosts.mesa import clock
from mesa_memory.hosts.solara import made_again, redraw, redraws
from mesa_memory.viz.live.page_runs import Current
from mesa_memory.viz.widgets import Failure

logger = logger_of(__name__)


@dataclass(eq=False)
class _Play:
    """One press of the play button.

    Attributes:
        model: the model that plays.
        until: the step at which it ends.
    """

    model: Any
    until: float = math.inf

    @property
    def ended(self) -> bool:
        """True if no step is left to make."""
        return not self.model.running or clock(self.model) >= self.until


@solara.component
def Player(
    current: Current,
    parameters: solara.Reactive[dict[str, Any]],
    interval: solara.Reactive[int],
    repeat: solara.Reactive[bool],
) -> Any:
    """Reset, play and Step of the run that was chosen last.

    The buttons look for their run when they are pressed, also while another is drawn.

    Args:
        current: says which model the page plays.
        parameters: the values with which Reset makes a model.
        interval: milliseconds between two steps.
        repeat: whether Reset plays as many steps as the model before had made.
    """
    playing: solara.Reactive[_Play | None] = solara.use_reactive(None)
    fault: solara.Reactive[Exception | None] = solara.use_reactive(None)
    redraws()
    model, play = current.value, playing.value
    plays = play is not None and play.model is model

    def go_on() -> None:
        while play is not None:
            time.sleep(interval.peek() / 1000)
            if playing.peek() is not play:
                break
            _try(fault, lambda: _step(model))
            if fault.peek() is not None or play.ended:
                playing.set(None)

    def toggle() -> None:
        now, chosen = playing.peek(), current.value
        fault.set(None)
        playing.set(None if now and now.model is chosen else _Play(chosen))

    def reset() -> None:
        playing.set(None)
        old = current.value
        new = made_again(old, parameters.peek())
        current.begin(new)
        if repeat.peek() and clock(old):
            playing.set(_Play(new, clock(old)))

    def leave() -> None:
        fault.set(None)
        if play is not None and not plays:
            playing.set(None)

    solara.use_effect(leave, [id(model)])
    solara.lab.use_task(go_on, dependencies=[play], prefer_threaded=True)
    guarded = partial(_try, fault)
    step = partial(guarded, lambda: _step(current.value))
    solara.Text(f"Model step: {clock(model):g}")
    _buttons(plays, not model.running, partial(guarded, reset), toggle, step)
    if fault.value is not None:
        Failure(fault.value)


def _buttons(
    plays: bool,
    ended: bool,
    reset: Callable[[], None],
    toggle: Callable[[], None],
    step: Callable[[], None],
) -> None:
    with solara.Row(justify="space-between"):
        solara.Button("Reset", color="primary", on_click=reset)
        label = "❚❚" if plays else "▶"
        solara.Button(label, color="primary", on_click=toggle, disabled=ended)
        solara.Button("Step", color="primary", on_click=step, disabled=plays or ended)


def _step(model: Any) -> None:
    """Makes a step, and has the page drawn anew."""
    model.step()
    redraw()


def _try(fault: solara.Reactive[Exception | None], action: Callable[[], None]) -> None:
    """Acts on the user's model; an error is shown on the page."""
    try:
        action()
    except Exception as error:  # a model raises whatever it likes
        logger.exception("the model of the page failed")
        fault.set(error)
    else:
        fault.set(None)
