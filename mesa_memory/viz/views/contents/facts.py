"""The facts that an agent knows, with their history and what is disputed."""

from collections.abc import Sequence
from typing import Any

import solara

from mesa_memory.viz.data import agent as memories
from mesa_memory.viz.data.contents import facts as data
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.views.naming import named
from mesa_memory.viz.views.navigation import to_evidence
from mesa_memory.viz.views.nothing import NotAtThisStep
from mesa_memory.viz.widgets import Column, Fact, Note, Section, Table
from mesa_memory.viz.widgets.timeline import number

KNOWN = (
    Column("of"),
    Column("what"),
    Column("value", wide=True),
    Column("who says so", wide=True),
    Column("since step", number=True),
    Column("last said", number=True),
    Column("strength", number=True),
    Column("disputed"),
    Column("stale since", number=True),
)
HISTORY = (
    Column("value", wide=True),
    Column("who says so", wide=True),
    Column("since step", number=True),
    Column("last said", number=True),
    Column("strength", number=True),
    Column("known until", number=True),
    Column("then", wide=True),
    Column("record"),
)
GATE = (
    Column("step", number=True),
    Column("statement", wide=True),
    Column("verdict"),
    Column("yes to"),
    Column("no to"),
    Column("then"),
)


@solara.component
def FactsPage(source: Source, selection: Selection, agent: Any, step: float) -> Any:
    """What the agent knew at the step; one attribute over time; the write gate."""
    past = source.of(memories.past, agent)
    known = solara.use_memo(lambda: data.facts(past, step), [id(past), step])
    asked = selection.option("fact", "")
    chosen = asked if asked in past.by_id else known[0].row["id"] if known else ""
    with solara.Column(gap="0px"):
        Known(source, selection, known, chosen, agent, step)
        if chosen:
            History(source, selection, past, chosen, agent, step).key(chosen)
        Gate(selection, past, agent, step)


@solara.component
def Known(
    source: Source,
    selection: Selection,
    known: Sequence[data.Fact],
    chosen: str,
    agent: Any,
    step: float,
) -> Any:
    """The facts of the step; a click shows what was there before."""
    disputed = [one for one in known if one.rivals]
    with Section(
        f"What agent {source.called(agent)} knows, step {number(step)}",
        hint="click a fact to see its history",
    ):
        with solara.Div(classes=["mm-row"]):
            Fact("facts", str(len(known)))
            Fact("disputed", str(len(disputed)))
            Fact("stale", str(sum(_stale(one, step) is not None for one in known)))
        if not known:
            to = data.first(source.of(memories.past, agent))
            NotAtThisStep(
                selection,
                "Nothing was known at the end of this step.",
                "mdi-book-outline",
                to,
                "where the first fact is known",
            )
            return
        ids = [one.row["id"] for one in known]
        Table(
            KNOWN,
            [_known(source, one, step) for one in known],
            file=f"agent-{agent}-step-{number(step)}-facts",
            marked=[ids.index(chosen)] if chosen in ids else [],
            mark="its history is shown below",
            on_pick=lambda n: selection.set_option("fact", ids[n]),
        )


@solara.component
def History(
    source: Source,
    selection: Selection,
    past: memories.Past,
    record: str,
    agent: Any,
    step: float,
) -> Any:
    """All values of an attribute, and who says what now."""
    found = data.history(past, record, step)
    if not found:
        Note("The chosen fact was not known yet at this step.")
        return
    statement = found[-1].statement
    now = [one for one in found if one.until is None]
    with Section(
        f"{statement.subject}: {statement.attribute}",
        hint="over time; click one for its evidence",
    ):
        if len(now) > 1 and any(
            n.statement.contradicts(now[0].statement) for n in now[1:]
        ):
            told = "; ".join(
                f"{one.speakers(lambda who: named(source, who))}: {one.value}"
                for one in now
            )
            Note(
                f"These values contradict each other; the memory keeps them all. {told}",
                "warning",
            )
        Table(
            HISTORY,
            [_version(source, one, past) for one in found],
            file=f"fact-{record.replace('/', '-')}-history",
            marked=[n for n, one in enumerate(found) if one.until is None],
            mark="known at this step",
            on_pick=lambda n: to_evidence(selection, found[n].row["id"], agent),
        )


@solara.component
def Gate(selection: Selection, past: memories.Past, agent: Any, step: float) -> Any:
    """What the write gate said of each statement."""
    judged = data.verdicts(past, step)
    refused = sum(one.refused for one in judged)
    with Section(
        "Write gate",
        hint=f"{len(judged):,} statements judged, {refused:,} refused; newest first",
    ):
        Table(
            GATE,
            [_verdict(one, past) for one in judged],
            file=f"agent-{agent}-write-gate",
            marked=[n for n, one in enumerate(judged) if one.refused],
            mark="refused",
            on_pick=lambda n: to_evidence(selection, judged[n].row["id"], agent),
            page=5,
            empty="No verdict was recorded: no statement has come to the gate yet.",
        )


def _stale(one: data.Fact, step: float) -> float | None:
    since = one.row["stale_since"]
    return since if since is not None and since <= step else None


def _known(source: Source, one: data.Fact, step: float) -> list[Any]:
    statement = one.statement
    return [
        statement.subject,
        statement.attribute,
        one.value,
        one.speakers(lambda who: named(source, who)),
        statement.since,
        statement.last,
        statement.strength,
        f"by {len(one.rivals)}" if one.rivals else "",
        _stale(one, step),
    ]


def _version(source: Source, one: data.Fact, past: memories.Past) -> list[Any]:
    statement = one.statement
    return [
        one.value,
        one.speakers(lambda who: named(source, who)),
        statement.since,
        statement.last,
        statement.strength,
        one.until,
        data.ending(one, past),
        one.row["id"],
    ]


def _verdict(one: data.Fact, past: memories.Past) -> list[Any]:
    gate = one.statement.gate
    return [
        one.row["step"],
        memories.text_of(one.row),
        "refused" if one.refused else "let in",
        ", ".join(str(name) for name, passed in gate.items() if passed),
        ", ".join(str(name) for name, passed in gate.items() if not passed),
        "" if one.refused else data.ending(one, past) or "known",
    ]
