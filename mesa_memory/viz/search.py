"""The search above all views, with its hits."""

from typing import Any

import solara

from mesa_memory.viz.background import use_answer
from mesa_memory.viz.data import find as data
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.serving.run_feed import Source
from mesa_memory.viz.views.navigation import to_agent, to_evidence
from mesa_memory.viz.widgets import Empty, Note, SearchBox, Section, Table

#: name of the searched text in the address
OPTION = "find"


@solara.component
def Search(selection: Selection) -> Any:
    """The search of a page."""
    SearchBox(
        "Agent, text, kind or step",
        selection.option(OPTION, ""),
        lambda value: selection.set_option(OPTION, value.strip() or None),
    )


@solara.component
def Hits(source: Source, selection: Selection) -> Any:
    """The hits of the search, if there is one.

    Args:
        source: state of the run that is shown.
        selection: of this session.
    """
    if selection.option(OPTION, "").strip():
        Found(source, selection)


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
