"""The runs of a page as a table; a click shows one."""

from collections.abc import Sequence
from typing import Any

import solara

from mesa_memory.viz.selection import Selection
from mesa_memory.viz.serving.run_feed import Feed, differing
from mesa_memory.viz.widgets import Section, Table

COLUMNS = (
    "run", "name", "model", "memory", "differs in", "seed", "begun", "state", "steps",
)  # fmt: skip


@solara.component
def RunsTable(feeds: Sequence[Feed], shown: Feed, selection: Selection) -> Any:
    """All runs of a page.

    Args:
        feeds: of the runs.
        shown: the one that the page shows.
        selection: of this session.
    """
    rows = [
        _row(place, feed, differs)
        for place, (feed, differs) in enumerate(zip(feeds, differing(feeds)), 1)
    ]
    with Section("Runs of this page", hint="a click shows a run"):
        Table(
            {name: name for name in COLUMNS},
            rows,
            file="runs",
            marked=lambda row: row["feed"] is shown,
            mark="shown now",
            on_pick=lambda row: selection.choose(run=row["feed"].key),
        )


def _row(place: int, feed: Feed, differs: dict[str, Any]) -> dict[str, Any]:
    facts = feed.facts
    if facts is None:
        return dict.fromkeys(COLUMNS, "") | {"run": feed.label, "feed": feed}
    apart = [f"{name} {value}" for name, value in differs.items()]
    return {
        "run": facts.place or str(place),
        "name": facts.name,
        "model": facts.model,
        "memory": feed.memory,
        "differs in": ", ".join(filter(None, [facts.forked, *apart])),
        "seed": facts.seed,
        "begun": facts.begun,
        "state": feed.state,
        "steps": len(feed.source.steps),
        "feed": feed,
    }
