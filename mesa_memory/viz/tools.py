"""The tools above all views: the search with its hits, and the table of runs."""

from collections.abc import Sequence
from typing import Any

import solara

from mesa_memory.viz.background import use_answer
from mesa_memory.viz.data import find as data
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.serving.run_feed import Feed, Source, differing
from mesa_memory.viz.views.navigation import to_agent, to_evidence
from mesa_memory.viz.widgets import Empty, Note, SearchBox, Section, Table

#: name of the searched text in the address
OPTION = "find"
COLUMNS = (
    "run", "name", "model", "memory", "differs in", "seed", "begun", "state", "steps",
)  # fmt: skip


@solara.component
def Tools(
    feeds: Sequence[Feed], feed: Feed, source: Source, selection: Selection
) -> Any:
    """A row of tools, and below it the results of those in use.

    Args:
        feeds: all runs of the page.
        feed: the one that is shown.
        source: its state.
        selection: of this session.
    """
    opened = solara.use_reactive(False)
    text = selection.option(OPTION, "")
    with solara.Div(classes=["mm-row", "mm-tools"]):
        SearchBox(
            "Agent, text, kind or step",
            text,
            lambda value: selection.set_option(OPTION, value.strip() or None),
        )
        if len(feeds) > 1:
            solara.Button(
                "Runs",
                icon_name="mdi-format-list-bulleted",
                text=True,
                small=True,
                on_click=lambda: opened.set(not opened.value),
                attributes={"aria-expanded": str(opened.value).lower()},
            )
    if text.strip():
        Found(source, selection)
    if opened.value and len(feeds) > 1:
        RunsTable(feeds, feed, selection)


@solara.component
def Found(source: Source, selection: Selection) -> Any:
    """All hits as a table; a click goes to one, and the list stays."""
    text = selection.option(OPTION, "").strip()
    found = use_answer(source, data.find, text, says="Searching …")
    if found is None:
        return
    count = len(found.hits) + found.more
    with Section(
        f"Hits for “{text}”", hint="1 hit" if count == 1 else f"{count:,} hits"
    ):
        if not found.hits:
            Empty(
                "No agent, step, kind or remembered text of this run has it. The search "
                "compares letters; Spread finds a like meaning.",
                "mdi-magnify-close",
                button="Search meaning in Spread",
                on_click=lambda: selection.choose(view="spread", text=text),
            )
            return
        Table(
            {
                "found": lambda hit: hit.what,
                "step": lambda hit: hit.step,
                "agent": lambda hit: (
                    "" if hit.agent is None else source.called(hit.agent)
                ),
                "text": lambda hit: hit.text,
            },
            found.hits,
            file="found",
            on_pick=lambda hit: _go(source, selection, hit),
        )
        if found.more:
            Note(f"{found.more:,} more records have it. Search for more words.")


def _go(source: Source, selection: Selection, hit: data.Hit) -> None:
    if hit.what == "agent":
        selection.choose(view="agent", agent=hit.agent)
    elif hit.what == "step":
        selection.choose(step=hit.step)
    elif hit.what == "kind" and hit.agent is None:
        selection.set_option(OPTION, f"{data.KIND}{hit.record}")
    elif hit.derived and hit.record is not None and hit.step is not None:
        step = min((s for s in source.steps if s >= hit.step), default=None)
        to_evidence(selection, hit.record, hit.agent, step=step)
    elif hit.step is not None:
        to_agent(source, selection, hit.agent, hit.step)


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
