"""What came of a fork: what the agent remembers in it, and not in the run before."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import solara

from mesa_memory.runs import open_run
from mesa_memory.runs.recording.recorder import Recorder
from mesa_memory.runtime.services import Services
from mesa_memory.viz.data import agent as memories
from mesa_memory.viz.data import compare as data
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.views.naming import named
from mesa_memory.viz.widgets import Column, Fact, Note, Plain, Table
from mesa_memory.viz.widgets.timeline import number

HEADS = (
    Column("only in"),
    Column("step", number=True),
    Column("kind"),
    Column("text", wide=True),
)
#: where a record is
FORK, BEFORE = "the fork", "this run"


@dataclass(frozen=True)
class Outcome:
    """The record of a fork.

    Attributes:
        agent: whose memory was changed.
        run: number of the new run.
        location: of its store; ``":memory:"`` for one that is not kept.
        key: of the new run, where the page lists it; else empty.
        step: the last step that it has played.
        since: the step after which it goes its own way.
        past: all that the agent remembered in it.
    """

    agent: Any
    run: int
    location: str
    step: float
    since: float
    past: memories.Past
    key: str = ""


def outcome(
    model: Any, made: Any, agent: Any, keep: Callable[[Any], str] | None = None
) -> Outcome:
    """What an agent remembered in a fork.

    Args:
        model: the one that was forked.
        made: the new one.
        keep: has the page list the new run, and gives its key; None ends its record.

    Raises:
        StoreError: if the store fails.
    """
    recorder = cast(Recorder, Services.of(made).recorder)
    key = ""
    if keep is None:
        recorder.close()
    else:
        recorder.sync()
        key = keep(made)
    run = open_run(recorder.store, recorder.run)
    before = cast(Recorder, Services.of(model).recorder).store.location
    since = run.steps[-1] if run.parent_step is None else run.parent_step
    past = memories.past(run, agent)
    # What a temporary copy holds is as good as in memory.
    return Outcome(agent, run.id, before, run.steps[-1], since, past, key)


@solara.component
def Came(source: Source, selection: Selection, found: Outcome) -> Any:
    """The records that the agent has in one of the two runs only."""
    here = source.of(memories.past, found.agent)
    at = min(found.step, source.steps[-1])
    mine = data.marked(found.past.at(found.step), here.at(at))
    theirs = data.marked(here.at(at), found.past.at(found.step))
    rows = [
        [where, row["step"], row["kind"], memories.text_of(row)]
        for where, side in ((FORK, mine), (BEFORE, theirs))
        for row in side
        if row["held by"] == data.ONLY
    ]
    solara.v.Html(tag="h4", children=[f"{named(source, found.agent)} in the fork"])
    with solara.Div(classes=["mm-row"]):
        Fact("forked after step", number(found.since))
        Fact("played until step", number(found.step))
        Fact("only in the fork", str(sum(row[0] == FORK for row in rows)))
        Fact("only in this run", str(sum(row[0] == BEFORE for row in rows)))
    if at < found.step:
        Note(
            f"This run has got to step {number(at)}; let it go on to step "
            f"{number(found.step)} to compare the two at the same time."
        )
    Table(
        HEADS,
        rows,
        file=f"fork-agent-{found.agent}",
        page=5,
        empty="The agent remembers the same in both.",
    )
    if found.key:
        solara.Button(
            "Show the fork, and play on in it",
            icon_name="mdi-arrow-right",
            on_click=lambda: selection.choose(run=found.key),
            outlined=True,
        )
    if found.location == ":memory:":
        Note("The fork is in memory only. Record the model in a file to keep it.")
    else:
        solara.Text("It is kept as a run of its own; to look at it later:")
        with solara.Div(classes=["mm-prompt"]):
            Plain(f"mesa-memory dashboard {found.location}#{found.run}")
