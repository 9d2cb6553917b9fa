"""Tables of spread: who holds such a memory, and which texts are most similar."""

from dataclasses import dataclass
from typing import Any

import solara

from mesa_memory.viz.data.spread import groups
from mesa_memory.viz.data.spread import spread as data
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.widgets import Column, Section, Table
from mesa_memory.viz.widgets.timeline import number

#: the option of the address that has the ticks
TICKS = "spread_ticks"


@dataclass(frozen=True)
class What:
    """What counts.

    Attributes:
        least: similarity, 0 to 1.
        kind: of record; None is all.
        ticks: groups that were ticked by hand, as ``groups.written`` writes them.
    """

    least: float
    kind: str | None
    ticks: str


@solara.component
def Holders(
    source: Source,
    found: data.Found,
    selection: Selection,
    what: What,
    step: float,
) -> Any:
    """Who holds it at the step, and what of theirs is most similar."""
    ticks = groups.read(what.ticks)
    rows = data.holders(found, what.least, step, what.kind, ticks)
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
def Texts(source: Source, found: data.Found, selection: Selection, what: What) -> Any:
    """What the nearest sentences say, with boxes to tick."""
    ticks = groups.read(what.ticks)
    rows = solara.use_memo(
        lambda: data.nearest(found, what.least, what.kind, ticks=ticks),
        [id(found), what],
    )
    heads = [
        Column("counts"),
        Column("similarity", number=True),
        Column("text", wide=True),
        Column("agents", number=True),
        Column("first step", number=True),
    ]

    def turn(place: int) -> None:
        row = rows[place]
        changed = {key: on for key, on in ticks.items() if key != row["key"]}
        if (row["similarity"] >= what.least) == row["counts"]:
            changed[row["key"]] = not row["counts"]
        selection.set_option(TICKS, groups.written(changed) or None)

    with Section(
        "What they say",
        hint="whoever said it and when; a click lets it count, or not; agents: how many "
        "ever had it",
    ):
        Table(
            heads,
            [
                [
                    "☑" if row["counts"] else "☐",
                    row["similarity"],
                    row["text"],
                    row["agents"],
                    row["first"],
                ]
                for row in rows
            ],
            marked=[n for n, row in enumerate(rows) if row["counts"]],
            mark="counts",
            file="spread-texts",
            on_pick=turn,
        )
