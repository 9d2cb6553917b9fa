"""The runs of a page as a table: sorted, searched, grouped; a click shows one."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import solara

from mesa_memory.viz.run_names import differing
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.serving.run_feed import Feed
from mesa_memory.viz.widgets import Choose, Column, Section, Table

_COLUMNS = (
    Column("run"),
    Column("name"),
    Column("model"),
    Column("memory"),
    Column("differs in"),
    Column("seed"),
    Column("begun"),
    Column("state"),
    Column("steps", number=True),
)
_GROUPS = {"": "nothing", "model": "model", "memory": "memory", "state": "state"}


@solara.component
def RunsTable(feeds: Sequence[Feed], shown: Feed, selection: Selection) -> Any:
    """All runs of a page.

    Args:
        feeds: of the runs.
        shown: the one that the page shows.
        selection: of this session.
    """
    group = solara.use_reactive("")
    listed = [(feed, row) for feed, row in zip(feeds, _rows(feeds))]
    with Section("Runs of this page", hint="a click shows a run"):
        Choose("Group by", group.value, _GROUPS, group.set)
        if not group.value:
            _Listed(listed, shown, selection)
            return
        place = [column.label for column in _COLUMNS].index(group.value)

        def value(one: tuple[Feed, list[Any]]) -> str:
            return str(one[1][place])

        for name, members in groupby(sorted(listed, key=value), value):
            solara.v.Html(tag="h4", children=[name or "–"])
            _Listed(list(members), shown, selection).key(name)


@solara.component
def _Listed(
    listed: list[tuple[Feed, list[Any]]], shown: Feed, selection: Selection
) -> Any:
    Table(
        _COLUMNS,
        [row for _, row in listed],
        file="runs",
        marked=[n for n, (feed, _) in enumerate(listed) if feed is shown],
        mark="shown now",
        on_pick=lambda n: selection.choose(run=listed[n][0].key),
    )


def _rows(feeds: Sequence[Feed]) -> list[list[Any]]:
    return [
        _row(place, feed, differs)
        for place, (feed, differs) in enumerate(zip(feeds, differing(feeds)), 1)
    ]


def _row(place: int, feed: Feed, differs: dict[str, Any]) -> list[Any]:
    facts = feed.facts
    if facts is None:
        return [str(place), feed.label, *[""] * (len(_COLUMNS) - 2)]
    apart = [f"{name} {value}" for name, value in differs.items()]
    told = ", ".join([facts.forked, *apart] if facts.forked else apart)
    return [
        facts.place or str(place), facts.name, facts.model, feed.memory, told,
        facts.seed, facts.begun, feed.state, len(feed.source.steps),
    ]  # fmt: skip
