"""Work that takes seconds runs in the background, and the page says so."""

from collections.abc import Callable
from typing import Any

import solara
import solara.lab

from mesa_memory.viz.serving.live_run import RunState

#: agents times steps of a run that is read at once, without a thread
QUICK_AGENT_STEPS = 2_000


def use_answer[T](
    source: RunState, function: Callable[..., T], *arguments: Any, says: str
) -> T | None:
    """``source.of(function, *arguments)``; None until the first answer is there.

    While a run goes on, the answer for its last state stays until the next one is there.
    So the answer may end before the last step of ``source``.

    Args:
        source: the run.
        function: one of ``viz.data``.
        *arguments: hashable.
        says: stands beside the progress bar until the first answer.
    """
    return use_work(
        lambda: source.of(function, *arguments),
        (source.run, function, *arguments),
        source.stamp,
        is_small(source),
        says,
    )


def use_work[T](
    work: Callable[[], T], subject: Any, stamp: Any, quick: bool, says: str
) -> T | None:
    """The result of ``work``; None until the first one is there.

    Args:
        work: called again with another ``subject`` or ``stamp``.
        subject: the question; the result of another one is not shown.
        stamp: the state of the data; the result of the last one is shown meanwhile.
        quick: works at once, without a thread.
        says: stands beside the progress bar until the first result.
    """
    held: Any = solara.use_ref(None)

    def run() -> None:
        if not quick:
            held.current = (subject, work())

    at_once = solara.use_memo(
        lambda: work() if quick else None, [subject, stamp, quick]
    )
    task = solara.lab.use_task(run, dependencies=[subject, stamp, quick])
    _ = task.pending  # reading it has the page drawn anew when the work is done
    if quick:
        return at_once
    if task.error:
        raise task.exception  # type: ignore[misc]  # there is one
    if held.current is not None and held.current[0] == subject:
        return held.current[1]
    solara.ProgressLinear(True)
    solara.Text(says)
    return None


def is_small(source: RunState) -> bool:
    """True if a run is read in less time than anyone notices."""
    return len(source.steps) * len(source.agent_ids) < QUICK_AGENT_STEPS
