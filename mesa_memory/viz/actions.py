"""Actions on the run that a page shows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import solara

from mesa_memory.viz.serving.live_run import LiveRun


@dataclass(frozen=True)
class Actions:
    """Actions that views offer as buttons.

    Attributes:
        step: makes one step of the model; None for a run that is only read.
        keep: has the page list another model's run, such as a fork's; gives its feed.
            None for a page that plays no model.
    """

    step: Callable[[], Any] | None = None
    keep: Callable[[Any], LiveRun] | None = None


NO_ACTIONS = Actions()
#: the actions on the run that is shown; a page provides them to all that it draws
ACTIONS = solara.create_context(NO_ACTIONS)
