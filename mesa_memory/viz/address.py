"""The selection of a browser session, and the browser's address: each follows the other."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import solara

from mesa_memory.viz.selection import Choice, Selection


@solara.component_vue("widgets/address.vue")
def _Address(
    query: str, replace: bool, event_popped: Callable[[str], None]
) -> None: ...


def use_selection() -> Selection:
    """This session's selection; it begins with the choices in the address."""
    router = solara.use_router()
    first = solara.use_memo(lambda: Choice.parse(router.search), [])
    held = solara.use_reactive(first)
    return solara.use_memo(lambda: Selection(held), [])


@solara.component
def Address(selection: Selection) -> Any:
    """Keeps the address up to date; invisible.

    Only a step, and the name of the run that is shown anyway, are replaced in the
    browser's history; every other choice can be taken back with its back button.
    """
    choice = selection.choice
    before = solara.use_ref(choice)
    same = replace(before.current, step=choice.step)
    only_step = choice in (same, replace(same, run=same.run or choice.run))
    before.current = choice
    return _Address(
        query=choice.query(),
        replace=only_step,
        event_popped=lambda query: selection.held.set(Choice.parse(query)),
    )
