"""What the search field of a page has found, and the ways there."""

from typing import Any

import solara

from mesa_memory.viz.background_query import use_answer
from mesa_memory.viz.data import find as data
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.views.navigation import to_agent, to_evidence
from mesa_memory.viz.widgets import Column, Empty, Note, Section, Table

#: name of the choice in the address
OPTION = "find"
#: agents times steps of a run that is searched at once
QUICK = 2_000
_COLUMNS = (
    Column("what"),
    Column("step", number=True),
    Column("agent"),
    Column("text", wide=True),
)


@solara.component
def Found(source: Source, selection: Selection) -> Any:
    """All hits as a table; a click goes to what was found, and the list stays."""
    text = selection.option(OPTION, "").strip()
    quick = len(source.steps) * len(source.agent_ids) < QUICK
    found = use_answer(source, data.find, text, quick=quick, says="Searching …")
    if found is None:
        return

    def close() -> None:
        selection.set_option(OPTION, None)

    with Section(f"Found for “{text}”", hint=_told(found)):
        solara.Button(
            "Close the search", icon_name="mdi-close", on_click=close, text=True
        )
        if not found.hits:
            Empty(
                "No agent, step, kind or remembered text of this run has it. The search "
                "goes by letters; Spread finds what is alike in meaning.",
                "mdi-magnify-close",
                button="Look for the meaning in Spread",
                on_click=lambda: selection.choose(view="spread", text=text),
            )
            return
        Table(
            _COLUMNS,
            [_cells(source, hit) for hit in found.hits],
            file="found",
            on_pick=lambda n: _go(source, selection, found.hits[n]),
        )
        if found.more:
            Note(f"{found.more:,} more records have it. Search for more words.")


def _told(found: data.Hits) -> str:
    count = len(found.hits) + found.more
    return "1 hit" if count == 1 else f"{count:,} hits"


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


def _cells(source: Source, hit: data.Hit) -> list[Any]:
    agent = "" if hit.agent is None else source.called(hit.agent)
    return [hit.what, hit.step, agent, hit.text]
