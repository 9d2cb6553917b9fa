"""The page of recorded runs."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import solara
import solara.lab

from mesa_memory.runs import Run
from mesa_memory.stores.open import open_store
from mesa_memory.stores.sql import Store
from mesa_memory.viz.address import use_selection
from mesa_memory.viz.dashboard import Dashboard
from mesa_memory.viz.serving.live_run import LiveRun, give_keys


@solara.component
def Runs(feeds: Sequence[LiveRun]) -> Any:
    """All runs of the server; every session reads the same, and selects for itself."""
    selection = use_selection()
    chosen = next((f for f in feeds if f.key == selection.choice.run), feeds[0])
    title = getattr(chosen.facts, "model", "") or "mesa-memory"
    with solara.AppBar():
        solara.AppBarTitle(title)
        solara.lab.ThemeToggle()
    solara.Title(title)
    Dashboard(list(feeds), selection)


def open_feeds(runs: Sequence[tuple[str, int | str | None]]) -> list[LiveRun]:
    """Opens recorded runs.

    Args:
        runs: store, and number or name of the run; None is the newest.

    Raises:
        StoreError, ValueError: if one cannot be read; none stays open then.
    """
    found: list[LiveRun] = []
    stores: dict[str, Store] = {}
    with ExitStack() as opened:
        for location, which in runs:
            # Runs of a study are many, in one store.
            if location not in stores:
                stores[location] = open_store(location, read_only=True)
                opened.callback(stores[location].close)
            run = Run(stores[location], stores[location].run_id(which))
            state = f"This run {run.status}; the page shows it until then."
            notes = [state] if run.status in ("failed", "stopped") else []
            found.append(LiveRun(run, str(run), notes))
        opened.pop_all()
    give_keys(found)
    for feed in found:
        feed.all = found
    return found
