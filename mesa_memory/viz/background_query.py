"""Work that takes seconds: in the background, while the page says so."""

from collections.abc import Callable
from typing import Any

import solara
import solara.lab

from mesa_memory.viz.run_view import Source


def use_answer[T](
    source: Source, function: Callable[..., T], *given: Any, quick: bool, says: str = ""
) -> T | None:
    """``source.of(function, *given)``, or None while it is being worked out.

    While a run goes on, the answer about its last state stays until there is a new one;
    so what it tells may end before the last step of ``source``.

    Args:
        source: what to read.
        function: one of ``viz.data``.
        *given: hashable.
        quick: it takes less time than anyone notices, so no thread is needed.
        says: stands beside the moving line while there is no answer at all.
    """
    asked = (source.run, function, *given)
    held: Any = solara.use_ref(None)

    def work() -> None:
        if not quick:
            held.current = (asked, source.of(function, *given))

    task = solara.lab.use_task(work, dependencies=[(*asked, source.stamp, quick)])
    _ = task.pending  # reading it has the page drawn anew when the work is done
    if quick:
        return source.of(function, *given)
    if task.error:
        raise task.exception  # type: ignore[misc]  # there is one
    if held.current is not None and held.current[0] == asked:
        return held.current[1]
    solara.ProgressLinear(True)
    solara.Text(says or "Working …")
    return None
