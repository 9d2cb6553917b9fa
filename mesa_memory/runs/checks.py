"""Counts of the records that the memories of a run made, recalled and showed."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from sqlalchemy import func, select

from mesa_memory.core.prompt_files import languages
from mesa_memory.core.records import DERIVED, EVENT, REFUSED
from mesa_memory.core.wording import COMMON, STEP, Wording
from mesa_memory.stores.schema import calls, prompts, recalls, records
from mesa_memory.stores.sql import Store

#: rows that are read from the store at once
ROWS_AT_ONCE = 500
#: what an empty section says
_EMPTY = "nothing recent"


@cache
def _frame() -> re.Pattern[str]:
    """Pattern of a prompt's frame: the name of a step, headings, remarks, empty sections."""
    wordings = [*map(Wording, languages())]
    empty = [re.escape(w("memory", _EMPTY)) for w in wordings]
    steps = [re.escape(w(COMMON, STEP, step_name="\0")) for w in wordings]
    said = "|".join([*empty, *steps]).replace(re.escape("\0"), ".+")
    return re.compile(rf"|(?!- ).*[:：]|[(（].*[)）]|{said}")


def record_checks(store: Store, run: int) -> dict[str, int]:
    """The numbers of records made, summarised, recalled, shown and doubtful."""
    r = records.c
    (events,) = _rows(store, run, func.count(r.id), origin=EVENT)
    columns = r.id, r.sources, r.content, r.closed_because
    made = {
        key: (sources, content)
        for key, sources, content, end in _rows(store, run, *columns, origin=DERIVED)
        if end != REFUSED
    }
    used = {source for sources, _ in made.values() for source in sources or ()}
    recalled = _rows(store, run, recalls.c.candidates)
    shown = _rows(store, run, prompts.c.text)
    return {
        "events_remembered": events[0],
        "records_made": len(made),
        "records_summarised": len(used - made.keys()),
        "records_recalled": sum(
            one["shown"] for (row,) in recalled for one in row or ()
        ),
        "lines_shown": sum(_lines(text or "") for (text,) in shown),
        "thoughts_doubtful": sum("doubtful" in content for _, content in made.values()),
    }


def requests(store: Store, run: int) -> list[Any]:
    """Purpose, model, error and reason of giving up of each request to a model."""
    c = calls.c
    return list(_rows(store, run, c.purpose, c.model, c.error, c.given_up))


def _rows(store: Store, run: int, *columns: Any, **only: Any) -> Iterator[Any]:
    """Rows of a run, some at a time: prompts and recalls may be large."""
    wanted = select(*columns).filter_by(run=run, **only)
    with store.reading() as on:
        yield from on.execute(wanted.execution_options(yield_per=ROWS_AT_ONCE))


def _lines(text: str) -> int:
    """The lines of memory in a text that an agent was shown."""
    return sum(not _frame().fullmatch(line.strip()) for line in text.splitlines())
