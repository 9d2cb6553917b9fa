"""A person's notes on the run that is shown."""

from collections.abc import Callable
from typing import Any

import solara

from mesa_memory.errors import MesaMemoryError
from mesa_memory.runs.notes import Note as Kept
from mesa_memory.runs.notes import Notes
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.views.navigation import to_evidence
from mesa_memory.viz.widgets import Choose, Column, Empty, Failure, Note, Section, Table
from mesa_memory.viz.widgets.timeline import number

_COLUMNS = (
    Column("step", number=True),
    Column("agent"),
    Column("record"),
    Column("text", wide=True),
)


@solara.component
def Noting(
    notes: Notes, source: Source, selection: Selection, on_change: Callable[[], None]
) -> Any:
    """The notes on a run, and a field for another one.

    Args:
        notes: of the run's store.
        source: of the run.
        selection: a note is about the step, agent or record that is chosen.
        on_change: called after one was kept or removed.
    """
    try:
        known = notes.of(source.run.id)
    except MesaMemoryError as error:
        Failure(error)
        return
    where = "in memory, until the program ends" if notes.path is None else notes.path
    with Section("Notes", hint=f"kept beside the run, which stays as it is: {where}"):
        _New(notes, source, selection, on_change)
        if not known:
            Empty("There are no notes on this run yet.", "mdi-note-outline")
            return
        Table(
            _COLUMNS,
            [[note.step, note.agent, note.record, note.text] for note in known],
            file=f"notes-run-{source.run.id}",
            on_pick=lambda n: _go(selection, known[n]),
        )
        _Removing(notes, known, on_change)


@solara.component
def _New(
    notes: Notes, source: Source, selection: Selection, on_change: Callable[[], None]
) -> Any:
    """What a note is about, its text, and the button that keeps it."""
    text, fault = solara.use_reactive(""), solara.use_reactive("")
    about = solara.use_reactive("step")
    step, agent = selection.step(source), selection.agent(source)
    if step is None:
        Note("Notes belong to a step. Make the first one.")
        return
    record = selection.option("record", "")
    choices = {"step": f"step {number(step)}"}
    if agent is not None:
        choices["agent"] = f"agent {source.called(agent)} in step {number(step)}"
    if record:
        choices["record"] = f"record {record}"
    chosen = about.value if about.value in choices else "step"

    def keep() -> None:
        try:
            of = {"agent": agent, "record": record if chosen == "record" else None}
            notes.add(
                source.run.id, step, text.value, **(of if chosen != "step" else {})
            )
        except (MesaMemoryError, ValueError) as error:
            fault.set(str(error))
            return
        fault.set("")
        text.set("")
        on_change()

    with solara.Div(classes=["mm-row"]):
        Choose("Note on", chosen, choices, about.set, wide=True)
        solara.v.Textarea(
            label="Note",
            v_model=text.value,
            on_v_model=lambda new: text.set(new or ""),
            class_="mm-field-wide",
            rows=2,
            auto_grow=True,
            outlined=True,
            dense=True,
            hide_details=True,
        )
        solara.Button("Keep note", on_click=keep, outlined=True)
    if fault.value:
        Note(fault.value, "error")


@solara.component
def _Removing(notes: Notes, known: list[Kept], on_change: Callable[[], None]) -> Any:
    """Takes one of the notes out of the list."""
    chosen = solara.use_reactive("")
    named = {"": "–"} | {str(one.number): f"{one.text[:60]}" for one in known}
    wanted = chosen.value if chosen.value in named else ""

    def remove() -> None:
        notes.remove(int(wanted))
        chosen.set("")
        on_change()

    with solara.Div(classes=["mm-row"]):
        Choose("Note to remove", wanted, named, chosen.set, wide=True)
        solara.Button("Remove note", on_click=remove, text=True, disabled=not wanted)


def _go(selection: Selection, note: Kept) -> None:
    if note.record is not None:
        to_evidence(selection, note.record, note.agent, step=note.step)
    elif note.agent is not None:
        selection.choose(view="agent", step=note.step, agent=note.agent)
    else:
        selection.choose(step=note.step)
