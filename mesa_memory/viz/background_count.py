"""Counting a long run takes seconds: in the background, with a line that says so."""

import solara
import solara.lab

from mesa_memory.viz.run_view import Source

#: agents times steps that are counted at once, in less time than anyone notices
QUICK = 20_000


def use_prepared(source: Source) -> bool:
    """True if the activity of a source is there; until then shows progress."""
    size = len(source.steps) * len(source.agent_ids)
    ready = source.begun or size < QUICK

    def count() -> None:
        if not ready:
            source.activity()

    task = solara.lab.use_task(count, dependencies=[id(source), ready])
    _ = task.pending  # reading it has the page drawn anew when the counting ends
    if task.error:
        raise task.exception  # type: ignore[misc]  # there is one
    if not ready and not source.begun:
        solara.ProgressLinear(True)
        solara.Text(
            f"Counting {len(source.steps):,} steps of {len(source.agent_ids):,} agents …"
        )
        return False
    return True
