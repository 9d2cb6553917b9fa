"""Tables of spread: who holds such a memory, and which texts are most similar."""

from typing import Any

import solara

from mesa_memory.viz.data import spread as data
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.widgets import Column, Section, Table
from mesa_memory.viz.widgets.timeline import number


@solara.component
def Holders(
    source: Source,
    found: data.Found,
    selection: Selection,
    least: float,
    kind: str | None,
    step: float,
) -> Any:
    """Who holds it at the step, and what of theirs is most similar."""
    rows = data.holders(found, least, step, kind)
    heads = [
        Column("agent"),
        Column("text", wide=True),
        Column("similarity", number=True),
        Column("since", number=True),
        Column("kind"),
        Column("records", number=True),
    ]
    names = [head.label for head in heads]
    with Section(
        f"Holders at step {number(step)}",
        hint="with their most similar record; a click opens the agent",
    ):
        Table(
            heads,
            [
                [source.called(row["agent"]), *(row[name] for name in names[1:])]
                for row in rows
            ],
            page=5,
            file=f"spread-step-{number(step)}",
            on_pick=lambda place: selection.choose(
                agent=rows[place]["agent"], view="agent"
            ),
            empty="Nobody holds it at this step.",
        )


@solara.component
def Texts(found: data.Found, least: float, kind: str | None) -> Any:
    """The nearest texts, so that one sees what counts and what just does not."""
    rows = solara.use_memo(
        lambda: data.nearest(found, least, kind), [id(found), least, kind]
    )
    heads = [
        Column("similarity", number=True),
        Column("counts"),
        Column("text", wide=True),
        Column("agents", number=True),
        Column("first step", number=True),
    ]
    with Section(
        "Most similar texts of the run",
        hint="those that count are marked; agents: how many ever had it",
    ):
        Table(
            heads,
            [
                [
                    row["similarity"],
                    "yes" if row["counts"] else "no",
                    row["text"],
                    row["agents"],
                    row["first"],
                ]
                for row in rows
            ],
            marked=[n for n, row in enumerate(rows) if row["counts"]],
            mark="similar enough to count",
            file="spread-texts",
        )
