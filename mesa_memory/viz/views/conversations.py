"""Messages as threads, and what became of each line in the memories of those who heard it."""

from collections.abc import Mapping, Sequence
from typing import Any

import solara

from mesa_memory.viz.data import agent as memories
from mesa_memory.viz.data import conversations as data
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.views.naming import named
from mesa_memory.viz.views.navigation import to_agent, to_evidence
from mesa_memory.viz.widgets import Column, Empty, Note, Section, Table
from mesa_memory.viz.widgets.passages import Mark, Passage, Passages
from mesa_memory.viz.widgets.timeline import number

#: lines that are shown to be read; the table has all
READ_LINES = 200
THREADS = (
    Column("with"),
    Column("messages", number=True),
    Column("first step", number=True),
    Column("last step", number=True),
    *(Column(state, number=True) for state in data.STATES[:4]),
    Column("begins with", wide=True),
)
LINES = (
    Column("step", number=True),
    Column("speaker"),
    Column("words", wide=True),
    Column("in the memory of"),
    Column("now"),
    Column("since step", number=True),
    Column("by"),
    Column("came to mind in steps"),
)
ICONS = dict(
    zip(
        data.STATES,
        (
            "mdi-format-quote-close",
            "mdi-text-short",
            "mdi-link-variant",
            "mdi-eraser",
            "mdi-pencil",
            "mdi-help-circle-outline",
        ),
    )
)


@solara.component
def ConversationsPage(
    source: Source, selection: Selection, agent: Any, step: float
) -> Any:
    """The agent's threads by the step; one of them to be read."""
    past = source.of(memories.past, agent)
    found = solara.use_memo(
        lambda: data.threads(past, agent, step), [id(past), agent, step]
    )
    with solara.Column(gap="0px"):
        if not found:
            first = min(row["step"] for row in past.rows if row["kind"] == "message")
            with Section(f"Threads of agent {source.called(agent)}"):
                Empty(
                    "Nothing was said until this step.",
                    "mdi-message-text-outline",
                    button=f"Go to step {number(first)}, the first with a message",
                    on_click=lambda: selection.choose(step=first),
                )
            return
        keys = [thread.key for thread in found]
        chosen = selection.option("thread", keys[0], keys)
        Threads(source, selection, found, chosen, past, agent, step)
        Thread(source, selection, found[keys.index(chosen)], agent, step).key(chosen)


@solara.component
def Threads(
    source: Source,
    selection: Selection,
    found: Sequence[data.Thread],
    chosen: str,
    past: memories.Past,
    agent: Any,
    step: float,
) -> Any:
    """All threads; a click chooses one."""

    def told() -> list[list[Any]]:
        return [_thread(source, thread, past, agent, step) for thread in found]

    rows = solara.use_memo(told, [id(past), agent, step])
    with Section(
        f"Threads of agent {source.called(agent)}, until step {number(step)}",
        hint="all that it and the same others said to each other; click one to read it",
    ):
        Table(
            THREADS,
            rows,
            file=f"agent-{agent}-threads",
            marked=[[thread.key for thread in found].index(chosen)],
            mark="shown below",
            on_pick=lambda n: selection.set_option("thread", found[n].key),
            page=5,
        )


@solara.component
def Thread(
    source: Source, selection: Selection, thread: data.Thread, agent: Any, step: float
) -> Any:
    """The lines of a thread, and the summaries of its conversations among them."""
    others = [who for who in thread.others if who in source.agent_ids]
    looked_at = [agent, *others[: data.LOOKED_AT]]
    pasts = {who: source.of(memories.past, who) for who in looked_at}
    recalls = {who: source.of(data.recalled, who) for who in looked_at}
    state = [thread.key, len(thread.rows), agent, step, source.stamp]
    lines = solara.use_memo(
        lambda: data.lines(thread, agent, step, pasts, recalls), state
    )
    whom = ", ".join(named(source, who) for who in thread.others) or "nobody known"
    with Section(f"With {whom}", hint="as it stands at this step"):
        if len(others) > data.LOOKED_AT:
            Note(
                f"Only the memories of the first {data.LOOKED_AT} others are looked at."
            )
        Reading(source, selection, thread, lines, pasts, agent, step)
        solara.v.Html(tag="h4", children=["As a table"])
        Rows(source, selection, lines, agent)


@solara.component
def Reading(
    source: Source,
    selection: Selection,
    thread: data.Thread,
    lines: Sequence[data.ThreadLine],
    pasts: Mapping[Any, memories.Past],
    agent: Any,
    step: float,
) -> Any:
    """The words with their marks; summaries stand where their last message was said."""
    made = [(agent, row) for row in data.summaries(pasts[agent], thread, step)]
    for who in list(pasts)[1:]:
        circle = [agent, *(other for other in thread.others if other != who)]
        made += [(who, r) for r in data.own_summaries(pasts[who], circle, step)]
    items = [(line.step, 0, _said(source, line, agent)) for line in lines[-READ_LINES:]]
    items += [(data.ended(row), 1, _summary(source, who, row)) for who, row in made]
    items.sort(key=lambda item: item[:2])
    if len(lines) > READ_LINES:
        Note(
            f"Shown are the last {READ_LINES} of {len(lines)} lines; the table has all."
        )

    def go(place: int, mark: int) -> None:
        record, who = items[place][2][1][mark]
        to_evidence(selection, record, who)

    Passages(
        [text for _, _, (text, _) in items],
        label=f"{len(lines)} messages with {len(made)} summaries, oldest first",
        on_go=go,
    )


@solara.component
def Rows(
    source: Source, selection: Selection, lines: Sequence[data.ThreadLine], agent: Any
) -> Any:
    """A row for each line and memory; a click goes to the step of the line."""
    pairs = [(line, trace) for line in lines for trace in line.traces]
    Table(
        LINES,
        [_row(source, line, trace) for line, trace in pairs],
        file=f"agent-{agent}-thread",
        on_pick=lambda n: to_agent(source, selection, agent, pairs[n][0].step),
        sort="step",
    )


#: a text, and for each of its marks the record and agent to which it leads
type Shown = tuple[Passage, list[tuple[str, Any]]]


def _said(source: Source, line: data.ThreadLine, agent: Any) -> Shown:
    marks, goes = [], []
    for trace in line.traces:
        if trace.state == data.UNKNOWN:
            continue
        whose = "" if len(line.traces) == 1 else f"{named(source, trace.agent)}: "
        since = "" if trace.since is None else f" since step {number(trace.since)}"
        by = f" by {trace.by[0]}" if trace.by and trace.since is not None else ""
        lead = trace.by[0] if by else ""
        text = f"{whose}{trace.state}{since}{by}"
        marks.append(Mark(text, ICONS[trace.state], goes=bool(lead)))
        goes.append((lead, trace.agent))
        if trace.recalls:
            steps = ", ".join(map(number, trace.recalls[:8]))
            more = len(trace.recalls) - 8
            steps += f" and {more} more" if more > 0 else ""
            told = (
                f"{whose}came to mind in step{'s' * (len(trace.recalls) > 1)} {steps}"
            )
            marks.append(Mark(told, "mdi-head-lightbulb-outline"))
            goes.append(("", trace.agent))
    who = "Somebody" if line.speaker is None else named(source, line.speaker)
    kind = "own" if line.speaker == agent else "said"
    held = [trace for trace in line.traces if trace.state != data.UNKNOWN]
    faded = all(trace.since is not None for trace in held)
    head = f"{who}, step {number(line.step)}"
    return Passage(head, line.text, marks, kind, faded), goes


def _summary(source: Source, who: Any, row: data.Row) -> Shown:
    head = f"{named(source, who)} remembers: {data.spoken(row, source.called)}"
    mark = Mark("what it rests on", "mdi-file-tree", goes=True)
    return Passage(head, memories.text_of(row), [mark], "told"), [(row["id"], who)]


def _thread(
    source: Source, thread: data.Thread, past: memories.Past, agent: Any, step: float
) -> list[Any]:
    lines = data.lines(thread, agent, step, {agent: past}, {})
    states = [line.traces[0].state for line in lines]
    return [
        ", ".join(map(source.called, thread.others)) or "nobody known",
        len(lines),
        lines[0].step,
        lines[-1].step,
        *(states.count(state) for state in data.STATES[:4]),
        lines[0].text,
    ]


def _row(source: Source, line: data.ThreadLine, trace: data.Trace) -> list[Any]:
    return [
        line.step,
        "" if line.speaker is None else source.called(line.speaker),
        line.text,
        source.called(trace.agent),
        trace.state,
        trace.since,
        ", ".join(trace.by),
        ", ".join(map(number, trace.recalls)),
    ]
