"""Messages as threads, each line with its state in the memories of its hearers."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import solara

import mesa_memory.viz.widgets as ui
from mesa_memory.viz.data import agent as memories
from mesa_memory.viz.data import conversations as data
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.views.navigation import to_evidence
from mesa_memory.viz.views.nothing import Elsewhere

#: most lines of a thread on the page
READ_LINES = 200
#: most steps of recalls that a mark names
MARK_STEPS = 8
ICONS = {
    data.WORDS: "mdi-format-quote-close",
    data.SUMMARISED: "mdi-text-short",
    data.FORGOTTEN: "mdi-eraser",
    data.CHANGED: "mdi-pencil",
}


@solara.component
def ConversationsView(focus: Focus) -> Any:
    """The agent's threads by the step; one of them in full."""
    past = focus.past
    found = solara.use_memo(
        lambda: data.threads(past, focus.agent, focus.step), [id(past), focus]
    )
    with solara.Column(gap="0px"):
        if not found:
            text = f"{focus.title} has not heard or said anything until this step."
            Elsewhere(focus, "conversations", text)
            return
        ui.Answer(_answer(focus, found))
        keys = [thread.key for thread in found]
        chosen = focus.selection.option("thread", keys[0], keys)
        Threads(focus, found, chosen)
        ThreadLines(focus, found[keys.index(chosen)]).key(chosen)


def _answer(focus: Focus, found: Sequence[data.Thread]) -> str:
    count = sum(len(thread.rows) for thread in found)
    longest = max(found, key=lambda thread: len(thread.rows))
    whom = " and ".join(map(focus.source.title, longest.others)) or "nobody known"
    return (
        f"Until step {ui.number(focus.step)}, {focus.title} heard and said {count} messages "
        f"in {len(found)} threads, most of them with {whom}."
    )


@solara.component
def Threads(focus: Focus, found: Sequence[data.Thread], chosen: str) -> Any:
    """All threads; a click chooses one."""
    source, past = focus.source, focus.past

    def described() -> list[dict[str, Any]]:
        return [_thread(focus, thread) for thread in found]

    rows = solara.use_memo(described, [id(past), focus])
    with ui.Section(
        f"Threads of agent {source.called(focus.agent)}",
        f"until step {ui.number(focus.step)}; all messages among the same agents",
    ):
        ui.Table(
            {name: name for name in rows[0] if name != "key"},
            rows,
            file=f"agent-{focus.agent}-threads",
            marked=lambda row: row["key"] == chosen,
            mark="shown below",
            on_pick=lambda row: focus.selection.set_option("thread", row["key"]),
            page=5,
        )


def _thread(focus: Focus, thread: data.Thread) -> dict[str, Any]:
    lines = data.lines(thread, focus.agent, focus.step, {focus.agent: focus.past}, {})
    states = [line.traces[0].state for line in lines]
    return {
        "with": ", ".join(map(focus.source.called, thread.others)) or "nobody known",
        "messages": len(lines),
        "first step": lines[0].step,
        "last step": lines[-1].step,
        **{state: states.count(state) for state in data.STATES[:3]},
        "begins with": lines[0].text,
        "key": thread.key,
    }


@solara.component
def ThreadLines(focus: Focus, thread: data.Thread) -> Any:
    """The lines of a thread; summaries stand below their last message."""
    source, agent, step = focus.source, focus.agent, focus.step
    others = [who for who in thread.others if who in source.agent_ids]
    looked_at = [agent, *others[: data.LOOKED_AT]]
    pasts = {who: source.of(memories.past, who) for who in looked_at}
    recalls = {who: source.of(data.recalled, who) for who in looked_at}
    lines = solara.use_memo(
        lambda: data.lines(thread, agent, step, pasts, recalls),
        [thread.key, len(thread.rows), focus],
    )
    made = _summaries(thread, pasts, focus)
    items = [(line.step, 0, _said(focus, line)) for line in lines[-READ_LINES:]]
    items += [(data.ended(row), 1, _summary(focus, who, row)) for who, row in made]
    items.sort(key=lambda item: item[:2])
    whom = ", ".join(map(source.title, thread.others)) or "nobody known"
    with ui.Section(f"With {whom}", "as it stands at this step"):
        if len(others) > data.LOOKED_AT:
            ui.Note(f"Only the memories of the first {data.LOOKED_AT} others are read.")
        if len(lines) > READ_LINES:
            ui.Note(f"Shown are the last {READ_LINES} of {len(lines)} lines.")
        ui.Passages(
            [text for _, _, text in items],
            label=f"{len(lines)} messages with {len(made)} summaries, oldest first",
        )


def _summaries(
    thread: data.Thread, pasts: Mapping[Any, memories.Past], focus: Focus
) -> list[tuple[Any, data.Row]]:
    """The summaries of a thread's conversations, each with the agent that made it."""
    agent, step = focus.agent, focus.step
    made = [(agent, row) for row in data.summaries(pasts[agent], thread.others, step)]
    for who in list(pasts)[1:]:
        circle = [agent, *(other for other in thread.others if other != who)]
        made += [(who, r) for r in data.summaries(pasts[who], circle, step)]
    return made


def _said(focus: Focus, line: data.ThreadLine) -> ui.Passage:
    held = [trace for trace in line.traces if trace.state != data.UNKNOWN]
    alone = len(line.traces) == 1
    marks = [mark for trace in held for mark in _marks(focus, trace, alone)]
    unknown = line.speaker is None
    who = "Unknown speaker" if unknown else focus.source.title(line.speaker)
    kind = "own" if line.speaker == focus.agent else "said"
    faded = all(trace.since is not None for trace in held)
    return ui.Passage(
        f"{who}, step {ui.number(line.step)}", line.text, marks, kind, faded
    )


def _marks(focus: Focus, trace: data.Trace, alone: bool) -> list[ui.PassageMark]:
    """The state of a line in one memory, and the steps in which it was recalled."""
    whose = "" if alone else f"{focus.source.title(trace.agent)}: "
    text, go = f"{whose}{trace.state}", None
    if trace.since is not None:
        text += f" since step {ui.number(trace.since)}"
        if trace.by:
            text += f" by {trace.by[0]}"
            go = partial(to_evidence, focus.selection, trace.by[0], trace.agent)
    marks = [ui.PassageMark(text, ICONS[trace.state], go)]
    if trace.recalls:
        steps = ", ".join(map(ui.number, trace.recalls[:MARK_STEPS]))
        more = len(trace.recalls) - MARK_STEPS
        steps += f" and {more} more" if more > 0 else ""
        text = f"{whose}recalled in step{'s' * (len(trace.recalls) > 1)} {steps}"
        marks.append(ui.PassageMark(text, "mdi-head-lightbulb-outline"))
    return marks


def _summary(focus: Focus, who: Any, row: data.Row) -> ui.Passage:
    source = focus.source
    head = f"{source.title(who)} remembers: {data.spoken(row, source.called)}"
    go = partial(to_evidence, focus.selection, row["id"], who)
    mark = ui.PassageMark("evidence", "mdi-file-tree", go)
    return ui.Passage(head, memories.text_of(row), [mark], "told")
