"""Tables of spread: the holders of such a memory, and the most similar sentences."""

from dataclasses import dataclass
from typing import Any

import solara

from mesa_memory.viz.data.spread import groups
from mesa_memory.viz.data.spread import spread as data
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.widgets import Section, Table, number

#: the option of the address that has the ticks
TICKS = "spread_ticks"


@dataclass(frozen=True)
class Criteria:
    """The sentences that count.

    Attributes:
        least: similarity, 0 to 1.
        kind: of record; None is all.
        marks: groups that were ticked by hand, as ``groups.written`` writes them.
    """

    least: float
    kind: str | None
    marks: str


@solara.component
def Holders(focus: Focus, found: data.Found, criteria: Criteria) -> Any:
    """The holders at the step, each with its most similar record."""
    ticks = groups.read(criteria.marks)
    step = number(focus.step)
    rows = data.holders(found, criteria.least, focus.step, criteria.kind, ticks)
    names = ("text", "similarity", "since", "kind", "records")
    with Section(
        f"Holders at step {step}",
        hint="with their most similar record; a click opens the agent",
    ):
        Table(
            {
                "agent": lambda row: focus.source.called(row["agent"]),
                **{name: name for name in names},
            },
            rows,
            page=5,
            file=f"spread-step-{step}",
            on_pick=lambda row: focus.selection.choose(
                agent=row["agent"], view="agent"
            ),
            empty="No agent holds it at this step.",
        )


@solara.component
def Sentences(focus: Focus, found: data.Found, criteria: Criteria) -> Any:
    """The nearest sentences, with boxes to tick."""
    ticks = groups.read(criteria.marks)
    rows = solara.use_memo(
        lambda: data.nearest(found, criteria.least, criteria.kind, ticks=ticks),
        [id(found), criteria],
    )

    def turn(row: dict[str, Any]) -> None:
        changed = {key: on for key, on in ticks.items() if key != row["key"]}
        if (row["similarity"] >= criteria.least) == row["counts"]:
            changed[row["key"]] = not row["counts"]
        focus.selection.set_option(TICKS, groups.written(changed) or None)

    with Section(
        "Nearest sentences",
        hint="of all speakers and steps; a click lets one count, or not",
    ):
        if criteria.marks:
            solara.Button(
                "Remove all ticks",
                icon_name="mdi-undo",
                on_click=lambda: focus.selection.set_option(TICKS, None),
                text=True,
            )
        Table(
            {
                "counts": lambda row: "☑" if row["counts"] else "☐",
                "similarity": "similarity",
                "text": "text",
                "agents": "agents",
                "first step": "first",
            },
            rows,
            marked=lambda row: row["counts"],
            mark="counts",
            file="spread-texts",
            on_pick=turn,
        )
