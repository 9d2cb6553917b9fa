"""The lifetimes of events in memories."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import pandas as pd

from mesa_memory.core.records import EVENT, EVICTED
from mesa_memory.runs import Run, open_run
from mesa_memory.runtime.services import Services
from mesa_memory.stores.schema import records

#: endings after which an event is in no memory, in any form
FORGETTING_REASONS = (EVICTED,)


def forgetting(
    source: Any, forgotten: Collection[str] = FORGETTING_REASONS, kinds: Any = None
) -> pd.DataFrame:
    """The share of events that are still remembered, by their age in steps.

    Kaplan and Meier (1958), "Nonparametric estimation from incomplete observations": at
    each age, of the events that could still be forgotten, the share that was not is
    multiplied into the estimate. Events that the run's end, a summary or a researcher took
    out of sight before count until then.

    Args:
        source: a recorded ``Run``, or a model that is being recorded: then all of its
            finished steps count.
        forgotten: reasons for which an event's lifetime ends that are forgetting; see
            ``MemoryRecord.closed_because``.
        kinds: only events of these kinds, such as ``["message"]``; None is all.

    Returns:
        A row for each age from 0 on at which an event's life ended: ``age`` in steps,
        ``at_risk`` (events that lived at least as long), ``forgotten`` and ``ended``
        (otherwise) at that age, and ``held``, the share still remembered after it, 1 to 0.

    Raises:
        ValueError: for a model that is not recorded, or a kind that is a single text.
    """
    if isinstance(kinds, str):
        raise ValueError(f"kinds must be a list of texts, got {kinds!r}")
    with _run_of(source) as run:
        lives = _lives(run, kinds)
        last = run.steps[-1] if run.steps else 0
    ages = [(last if end is None else end) - since for since, end, _ in lives]
    lost = [why in forgotten for _, _, why in lives]
    counted = pd.DataFrame({"age": ages, "forgotten": lost})
    table = counted.groupby("age")["forgotten"].agg(["size", "sum"]).reset_index()
    at_risk = table["size"][::-1].cumsum()[::-1]
    return pd.DataFrame(
        {
            "age": table["age"],
            "at_risk": at_risk,
            "forgotten": table["sum"],
            "ended": table["size"] - table["sum"],
            "held": (1 - table["sum"] / at_risk).cumprod(),
        }
    )


@contextmanager
def _run_of(source: Any) -> Iterator[Run]:
    """The record to be read; of a model, all that it has finished so far."""
    if isinstance(source, Run):
        yield source
        return
    recorder: Any = Services.of(source).recorder
    if recorder is None or not recorder.active:
        raise ValueError(
            "forgetting is read from the record of a run, and this model is not recorded: "
            "call configure(model, record=True) before its first step"
        )
    recorder.sync()
    with open_run(recorder.store, recorder.run) as run:
        yield run


def _lives(run: Run, kinds: Collection[str] | None) -> list[tuple]:
    """From when to when each event was held, and why it ended."""
    columns = (records.c.valid_from, records.c.valid_to, records.c.closed_because)
    wanted = records.select().with_only_columns(*columns)
    wanted = wanted.where(records.c.run == run.id, records.c.origin == EVENT)
    if kinds is not None:
        wanted = wanted.where(records.c.kind.in_(sorted(kinds)))
    return run.rows(wanted)
