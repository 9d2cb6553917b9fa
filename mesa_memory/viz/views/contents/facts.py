"""The facts that an agent knows, their history, and the disputed ones."""

from collections.abc import Sequence
from typing import Any

import solara

import mesa_memory.viz.widgets as ui
from mesa_memory.viz.data.contents import facts as data
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.views.navigation import to_evidence
from mesa_memory.viz.views.nothing import Elsewhere


@solara.component
def FactsView(focus: Focus) -> Any:
    """The facts at the step, and one attribute over time."""
    past, step = focus.past, focus.step
    known = solara.use_memo(lambda: data.facts(past, step), [id(past), step])
    wanted = focus.selection.option("fact", "")
    chosen = wanted if wanted in past.by_id else known[0].row["id"] if known else ""
    if not data.every(past, step):
        Elsewhere(
            focus, "facts", f"{focus.title} has not written a fact until this step."
        )
        return
    disputed = sum(bool(one.rivals) for one in known)
    with solara.Column(gap="0px"):
        ui.Answer(
            f"At step {ui.number(step)}, {focus.title} knows {len(known)} facts; "
            f"{disputed or 'none'} of them {'is' if disputed == 1 else 'are'} disputed."
        )
        Known(focus, known, chosen)
        if chosen:
            History(focus, chosen).key(chosen)


def Known(focus: Focus, known: Sequence[data.Fact], chosen: str) -> Any:
    """The facts of the step; a click shows the history of one."""

    def stale(one: data.Fact) -> float | None:
        since = one.row["stale_since"]
        return since if since is not None and since <= focus.step else None

    with ui.Section(
        f"Facts known to agent {focus.name}", "click a fact to see its history"
    ):
        if not known:
            Elsewhere(focus, "facts", "Nothing was known at the end of this step.")
            return
        ui.Table(
            {
                "of": lambda one: one.statement.subject,
                "attribute": lambda one: one.statement.attribute,
                **_statement(focus),
                "disputed": lambda one: f"by {len(one.rivals)}" if one.rivals else "",
                "stale since": stale,
            },
            known,
            file=focus.file("facts"),
            marked=lambda one: one.row["id"] == chosen,
            mark="its history is shown below",
            on_pick=lambda one: focus.selection.set_option("fact", one.row["id"]),
        )


@solara.component
def History(focus: Focus, record: str) -> Any:
    """All values of an attribute, and their speakers."""
    found = data.history(focus.past, record, focus.step)
    if not found:
        ui.Note("The chosen fact was not known yet at this step.")
        return
    statement = found[-1].statement
    now = [one for one in found if one.until is None]
    with ui.Section(
        f"{statement.subject}: {statement.attribute}",
        "over time; click one for its evidence",
    ):
        if any(one.statement.contradicts(now[0].statement) for one in now[1:]):
            values = "; ".join(
                f"{one.speakers(focus.source.title)}: {one.value}" for one in now
            )
            ui.Note(
                f"These values contradict each other; the memory keeps them all. {values}",
                "warning",
            )
        ui.Table(
            {
                **_statement(focus),
                "known until": "until",
                "end": lambda one: data.ending(one, focus.past),
                "record": lambda one: one.row["id"],
            },
            found,
            file=f"fact-{record.replace('/', '-')}-history",
            marked=lambda one: one.until is None,
            mark="known at this step",
            on_pick=lambda one: to_evidence(
                focus.selection, one.row["id"], focus.agent
            ),
        )


def _statement(focus: Focus) -> dict[str, Any]:
    """The columns of every statement."""
    return {
        "value": "value",
        "speakers": lambda one: one.speakers(focus.source.title),
        "since step": lambda one: one.statement.since,
        "last said": lambda one: one.statement.last,
        "strength": lambda one: one.statement.strength,
    }
