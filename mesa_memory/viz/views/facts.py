"""The facts that an agent knows, their history, and the disputed ones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import solara

import mesa_memory.viz.widgets as ui
from mesa_memory.core.records import REFUSED
from mesa_memory.core.wording import ENGLISH
from mesa_memory.layers.facts.statement import KIND, FactStatement, is_statement
from mesa_memory.runs.past import Past, Row
from mesa_memory.viz.views.empty import EmptyView
from mesa_memory.viz.views.focus import Focus

#: what the agent saw with its own eyes has no speaker
WITNESSED = "its own eyes"
DISPUTED = "These values contradict each other; the memory keeps them all."


@dataclass(frozen=True)
class Fact:
    """A record of a claim, as it was at a step.

    Attributes:
        row: the record.
        claim: what it says.
        until: the step at whose end it was known no more; None while it is.
        rivals: ids of the facts known beside it that cannot hold at the same time.
    """

    row: Row
    statement: FactStatement
    until: float | None
    rivals: tuple[str, ...] = ()

    @property
    def value(self) -> str:
        """The value, as one that is denied if it does not hold."""
        return self.statement.said(ENGLISH)

    @property
    def refused(self) -> bool:
        """True if the write gate did not let it in."""
        return self.row["closed_because"] == REFUSED

    def speakers(self, called: Callable[[Any], str]) -> str:
        """The speakers, as text."""
        named = [WITNESSED if w is None else called(w) for w in self.statement.speakers]
        said, quoting = ", ".join(named) or "nobody", self.statement.quoting
        return f"{said}, quoting {quoting}" if quoting else said


def facts(past: Past, step: float) -> list[Fact]:
    """The facts at the end of a step, topic by topic, the oldest topic first."""
    known = [fact for fact in every(past, step) if fact.until is None]
    topics: dict[Any, list[Fact]] = {}
    for fact in known:
        topics.setdefault(fact.statement.topic, []).append(fact)
    groups = [(one, group) for group in topics.values() for one in group]
    return [replace(one, rivals=_rivals(one, group)) for one, group in groups]


def every(past: Past, step: float) -> list[Fact]:
    """All claims that the memory ever wrote down by a step, refused ones too."""
    rows = [row for row in past.rows if row["valid_from"] <= step]
    return [_fact(r, step) for r in rows if r["kind"] == KIND and _is_statement(r)]


def _fact(row: Row, step: float = inf) -> Fact:
    end = row["valid_to"]
    statement = FactStatement.of_content(row["content"], row["subject"], row["step"])
    return Fact(row, statement, end if end is not None and end <= step else None)


def history(past: Past, record: str, step: float) -> list[Fact]:
    """All values of the attribute that a fact is about, oldest first.

    A fact that was stated again stands here once, as it was in the end.
    """
    made = every(past, step)
    chosen = next((one for one in made if one.row["id"] == record), None)
    if chosen is None:
        return []
    by_id = {one.row["id"]: one for one in made}
    topic = chosen.statement.topic
    same = [one for one in made if one.statement.topic == topic and not one.refused]
    found = [one for one in same if not _renewed(one, by_id)]
    return sorted(found, key=lambda one: (one.statement.since, one.row["seq"]))


def ending(fact: Fact, past: Past) -> str:
    """Why a fact is known no more; empty while it is."""
    if fact.until is None:
        return ""
    by = past.by_id.get(fact.row["superseded_by"] or "")
    if by is not None and _is_statement(by):
        return f"superseded by {_fact(by).value}"
    return fact.row["closed_because"] or "ended"


def _rivals(one: Fact, group: list[Fact]) -> tuple[str, ...]:
    others = [other for other in group if other is not one]
    return tuple(o.row["id"] for o in others if one.statement.contradicts(o.statement))


def _renewed(fact: Fact, by_id: dict[str, Fact]) -> bool:
    """True if a later record says the same in its place."""
    by = by_id.get(fact.row["superseded_by"] or "")
    if by is None:
        return False
    now, then = by.statement, fact.statement
    return (now.says, now.topic) == (then.says, then.topic)


def _is_statement(row: Row) -> bool:
    return is_statement(row["content"], row["origin"])


@solara.component
def FactsView(focus: Focus) -> Any:
    """The facts at the step, and one attribute over time."""
    past, step = focus.past, focus.step
    known = facts(past, step)
    wanted = focus.selection.option("fact", "")
    chosen = wanted if wanted in past.by_id else known[0].row["id"] if known else ""
    if not every(past, step):
        text = f"{focus.title} has not written a fact until this step."
        EmptyView(focus, "facts", text)
        return
    disputed = sum(bool(one.rivals) for one in known)
    with solara.Column(gap="0px"):
        ui.Answer(
            f"At step {ui.number(step)}, {focus.title} knows {len(known)} facts; "
            f"{disputed or 'none'} of them {'is' if disputed == 1 else 'are'} disputed."
        )
        Known(focus, known, chosen)
        if chosen:
            History(focus, chosen)


def Known(focus: Focus, known: Sequence[Fact], chosen: str) -> Any:
    """The facts of the step; a click shows the history of one."""

    def stale(one: Fact) -> float | None:
        since = one.row["stale_since"]
        return since if since is not None and since <= focus.step else None

    columns = {
        "of": lambda one: one.statement.subject,
        "attribute": lambda one: one.statement.attribute,
        **_statement(focus),
        "disputed": lambda one: f"by {len(one.rivals)}" if one.rivals else "",
        "stale since": stale,
    }
    title = f"Facts known to agent {focus.name}"
    hint = "click a fact to see its history"
    with ui.Section(title, hint):
        if not known:
            EmptyView(focus, "facts", "Nothing was known at the end of this step.")
            return
        ui.Table(
            columns,
            known,
            file=focus.file("facts"),
            marked=lambda one: one.row["id"] == chosen,
            mark="its history is shown below",
            on_pick=lambda one: focus.selection.set_option("fact", one.row["id"]),
        )


def History(focus: Focus, record: str) -> Any:
    """All values of an attribute, and their speakers."""
    found = history(focus.past, record, focus.step)
    if not found:
        ui.Note("The chosen fact was not known yet at this step.")
        return
    statement = found[-1].statement
    now = [one for one in found if one.until is None]
    called, hint = focus.source.title, "over time; click one for its evidence"
    columns = _statement(focus) | {
        "known until": "until",
        "end": lambda one: ending(one, focus.past),
        "record": lambda one: one.row["id"],
    }
    with ui.Section(f"{statement.subject}: {statement.attribute}", hint):
        if any(one.statement.contradicts(now[0].statement) for one in now[1:]):
            values = "; ".join(f"{one.speakers(called)}: {one.value}" for one in now)
            ui.Note(f"{DISPUTED} {values}", "warning")
        ui.Table(
            columns,
            found,
            file=f"fact-{record.replace('/', '-')}-history",
            marked=lambda one: one.until is None,
            mark="known at this step",
            on_pick=lambda one: focus.to_evidence(one.row["id"]),
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
