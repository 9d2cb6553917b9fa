"""Messages as threads, each line with its state in the memories of its hearers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import solara

import mesa_memory.viz.widgets as ui
from mesa_memory.core.events import message_text, subjects
from mesa_memory.core.records import BY_HAND, DERIVED
from mesa_memory.runs import Run
from mesa_memory.runs.past import Past, Row, past, text_of
from mesa_memory.runs.queries import source_ids
from mesa_memory.viz.data import recall
from mesa_memory.viz.data.agent import number
from mesa_memory.viz.views.empty import EmptyView
from mesa_memory.viz.views.focus import Focus

#: states of a line in one memory
WORDS, SUMMARISED, FORGOTTEN, CHANGED, UNKNOWN = STATES = (
    "word for word",
    "summarised",
    "forgotten",
    "taken out by hand",
    "not in this memory",
)
#: the kind of record that sums up a conversation
SUMMARY = "conversation"
#: number of others of a thread whose memories are read
LOOKED_AT = 6

#: by record: the steps in which it came to mind, and whether it was shown then
type Recalls = Mapping[str, list[tuple[float, bool]]]


@dataclass(frozen=True)
class Trace:
    """The state of a message in one memory at the end of a step.

    Attributes:
        agent: whose memory.
        state: one of ``STATES``.
        by: ids of the records that were made from it.
        since: the step at which its words were forgotten; None while they are held.
        recalls: steps in which it, or a record made from it, came to mind later.
    """

    agent: Any
    state: str
    by: tuple[str, ...] = ()
    since: float | None = None
    recalls: tuple[float, ...] = ()


@dataclass(frozen=True)
class ThreadLine:
    """A message in a thread.

    Attributes:
        speaker: unique id; None if it is not known.
        text: the words.
        traces: its state in each memory, the agent's own first.
    """

    step: float
    speaker: Any
    text: str
    traces: tuple[Trace, ...]


@dataclass(frozen=True)
class Thread:
    """All that an agent and the same others said to each other.

    Attributes:
        others: unique ids; empty for messages without a sender.
        rows: the messages in the agent's memory, oldest first.
    """

    others: tuple[Any, ...]
    rows: tuple[Row, ...]

    @property
    def key(self) -> str:
        """Its name in an address."""
        return ",".join(sorted(map(str, self.others))) or "nobody"


def threads(past: Past, agent: Any, step: float) -> list[Thread]:
    """The threads of an agent by the end of a step, that with the newest message first."""
    talks: dict[frozenset[Any], list[Row]] = {}
    named: dict[frozenset[Any], tuple[Any, ...]] = {}
    for row in _messages(past, step):
        met = dict.fromkeys(subjects("message", row["content"]))
        met.pop(agent, None)
        named.setdefault(frozenset(met), tuple(met))
        talks.setdefault(frozenset(met), []).append(row)
    found = [Thread(named[who], tuple(rows)) for who, rows in talks.items()]
    return sorted(found, key=lambda thread: -thread.rows[-1]["seq"])


def lines(
    thread: Thread,
    agent: Any,
    step: float,
    pasts: Mapping[Any, Past],
    recalls: Mapping[Any, Recalls],
) -> list[ThreadLine]:
    """The messages of a thread, oldest first, with their states at a step.

    Args:
        agent: whose thread it is.
        pasts, recalls: of the agent, and of the others whose memories are read.
    """
    copies = {who: _by_key(past, step) for who, past in pasts.items() if who != agent}
    rests = {who: _resting(past, step) for who, past in pasts.items()}
    found = []
    for row in thread.rows:
        key = _key(row)
        held = {agent: row}
        for who, known in copies.items():
            if queue := known.get(key):
                held[who] = queue.pop(0)
        traces = [
            _trace(who, held.get(who), step, rests[who], recalls.get(who, {}))
            for who in pasts
            if who in held or who in thread.others
        ]
        found.append(ThreadLine(row["step"], key[1], key[2], tuple(traces)))
    return found


def summaries(
    thread: Thread, agent: Any, step: float, pasts: Mapping[Any, Past]
) -> list[tuple[Any, Row]]:
    """The summaries of a thread's conversations, each with the agent that made it."""
    members = {str(one) for one in (agent, *thread.others)}
    return [
        (who, row)
        for who, past in pasts.items()
        for row in past.made(step, SUMMARY)
        if set(map(str, _with(row))) == members - {str(who)}
    ]


def recalled(run: Run, agent: Any) -> dict[str, list[tuple[float, bool]]]:
    """By record, the steps of its recalls, and whether it was shown in each."""
    found: dict[str, list[tuple[float, bool]]] = {}
    for row in recall.recalls(run, agent):
        for one in recall.candidates_of(row):
            shown = one.get("shown") is not False
            found.setdefault(one["id"], []).append((row["step"], shown))
    return found


def spoken(row: Row, naming: Callable[[Any], str]) -> str:
    """A summary with when it was and with whom."""
    content = row["content"]
    began, end = content.get("began"), content.get("ended")
    when = f"steps {began} to {end}" if began != end else f"step {began}"
    return f"{when}, with {', '.join(map(naming, _with(row))) or 'nobody else'}"


def ended(row: Row) -> float:
    """The step of the last message that a summary tells of."""
    content = row["content"]
    last = number(content.get("ended"))
    return row["step"] if last is None else last


def _trace(
    who: Any,
    row: Row | None,
    step: float,
    rests: Mapping[str, list[Row]],
    recalls: Recalls,
) -> Trace:
    """The state of a message in one memory."""
    if row is None:
        return Trace(who, UNKNOWN)
    made = rests.get(row["id"], [])
    by = tuple(each["id"] for each in made)
    came = [one for name in (row["id"], *by) for one in recalls.get(name, ())]
    later = {at for at, shown in came if shown and row["step"] < at <= step}
    end = row["valid_to"]
    since = end if end is not None and end <= step else None
    state = SUMMARISED if made else FORGOTTEN
    if since is None or row["closed_because"] in BY_HAND:
        state = WORDS if since is None else CHANGED
    return Trace(who, state, by, since, tuple(sorted(later)))


def _resting(past: Past, step: float) -> dict[str, list[Row]]:
    """By record, the records that were made from it by a step, oldest first."""
    found: dict[str, list[Row]] = {}
    for row in past.made(step):
        for name in source_ids(row):
            found.setdefault(name, []).append(row)
    return found


def _by_key(past: Past, step: float) -> dict[tuple, list[Row]]:
    found: dict[tuple, list[Row]] = {}
    for row in _messages(past, step):
        found.setdefault(_key(row), []).append(row)
    return found


def _key(row: Row) -> tuple[float, Any, str]:
    """The identity of a message: step, sender and words."""
    content = row["content"]
    met = subjects("message", content)
    speaker = met[0] if met and met[0] == content.get("sender") else None
    unsigned = {**content, "sender": None} if content else row["text"] or ""
    return row["step"], speaker, message_text(unsigned)


def _messages(past: Past, step: float) -> list[Row]:
    known = [row for row in past.rows if row["step"] <= step]
    return [r for r in known if r["kind"] == "message" and r["origin"] != DERIVED]


def _with(row: Row) -> list[Any]:
    content = row["content"]
    others = content.get("with")
    if isinstance(others, list):
        return [who for who in others if isinstance(who, str | int)]
    return [] if others is None else [others]


#: most lines of a thread on the page
READ_LINES = 200
#: most steps of recalls that a mark names
MARK_STEPS = 8
ICONS = {
    WORDS: "mdi-format-quote-close",
    SUMMARISED: "mdi-text-short",
    FORGOTTEN: "mdi-eraser",
    CHANGED: "mdi-pencil",
}


@solara.component
def ConversationsView(focus: Focus) -> Any:
    """The agent's threads by the step; one of them in full."""
    found = threads(focus.past, focus.agent, focus.step)
    with solara.Column(gap="0px"):
        if not found:
            text = f"{focus.title} has not heard or said anything until this step."
            EmptyView(focus, "conversations", text)
            return
        ui.Answer(_answer(focus, found))
        keys = [thread.key for thread in found]
        chosen = focus.selection.option("thread", keys[0], keys)
        Threads(focus, found, chosen)
        ThreadLines(focus, found[keys.index(chosen)]).key(chosen)


def _answer(focus: Focus, found: Sequence[Thread]) -> str:
    count = sum(len(thread.rows) for thread in found)
    longest = max(found, key=lambda thread: len(thread.rows))
    whom = ", ".join(map(focus.source.title, longest.others)) or "nobody known"
    return (
        f"Until step {focus.at}, {focus.title} heard and said {ui.counted(count, 'message')} "
        f"in {ui.counted(len(found), 'thread')}, the longest with {whom}."
    )


@solara.component
def Threads(focus: Focus, found: Sequence[Thread], chosen: str) -> Any:
    """All threads; a click chooses one."""
    rows = [_thread(focus, thread) for thread in found]
    columns = {name: name for name in rows[0] if name != "id"}
    hint = f"until step {focus.at}; all messages among the same agents"
    more = focus.chosen("thread", chosen, "shown below")
    with ui.Section(f"Threads of agent {focus.name}", hint):
        file = f"agent-{focus.agent}-threads"
        ui.Table(columns, rows, file=file, page=5, **more)


def _thread(focus: Focus, thread: Thread) -> dict[str, Any]:
    rows = lines(thread, focus.agent, focus.step, {focus.agent: focus.past}, {})
    states = [line.traces[0].state for line in rows]
    return {
        "with": ", ".join(map(focus.source.called, thread.others)) or "nobody known",
        "messages": len(rows),
        "first step": rows[0].step,
        "last step": rows[-1].step,
        **{state: states.count(state) for state in STATES[:3]},
        CHANGED: states.count(CHANGED) or None,
        "begins with": rows[0].text,
        "id": thread.key,
    }


@solara.component
def ThreadLines(focus: Focus, thread: Thread) -> Any:
    """The lines of a thread; summaries stand below their last message."""
    source, agent, step = focus.source, focus.agent, focus.step
    others = [who for who in thread.others if who in source.agent_ids]
    looked_at = [agent, *others[:LOOKED_AT]]
    pasts = {who: source.of(past, who) for who in looked_at}
    recalls = {who: source.of(recalled, who) for who in looked_at}
    rows = lines(thread, agent, step, pasts, recalls)
    made = summaries(thread, agent, step, pasts)
    items = [(line.step, 0, _said(focus, line)) for line in rows[-READ_LINES:]]
    items += [(ended(row), 1, _summary(focus, who, row)) for who, row in made]
    items.sort(key=lambda item: item[:2])
    whom = ", ".join(map(source.title, thread.others)) or "nobody known"
    with ui.Section(f"With {whom}", "as it stands at this step"):
        if len(others) > LOOKED_AT:
            ui.Note(f"Only the memories of the first {LOOKED_AT} others are read.")
        if len(rows) > READ_LINES:
            ui.Note(f"Shown are the last {READ_LINES} of {len(rows)} lines.")
        label = f"{len(rows)} messages with {len(made)} summaries, oldest first"
        ui.Passages([text for _, _, text in items], label=label)


def _said(focus: Focus, line: ThreadLine) -> ui.Passage:
    held = [trace for trace in line.traces if trace.state != UNKNOWN]
    alone = len(line.traces) == 1
    marks = [mark for trace in held for mark in _marks(focus, trace, alone)]
    unknown = line.speaker is None
    who = "Unknown speaker" if unknown else focus.source.title(line.speaker)
    head = f"{who}, step {ui.number(line.step)}"
    kind = "own" if line.speaker == focus.agent else "said"
    faded = all(trace.since is not None for trace in held)
    return ui.Passage(head, line.text, marks, kind, faded)


def _marks(focus: Focus, trace: Trace, alone: bool) -> list[ui.PassageMark]:
    """The state of a line in one memory, and the steps in which it was recalled."""
    whose = "" if alone else f"{focus.source.title(trace.agent)}: "
    text, go = f"{whose}{trace.state}", None
    if trace.since is not None:
        text += f" since step {ui.number(trace.since)}"
        if trace.by:
            text += f" by {trace.by[0]}"
            go = partial(focus.to_evidence, trace.by[0], trace.agent)
    marks = [ui.PassageMark(text, ICONS[trace.state], go)]
    if trace.recalls:
        steps = ", ".join(map(ui.number, trace.recalls[:MARK_STEPS]))
        more = len(trace.recalls) - MARK_STEPS
        steps += f" and {more} more" if more > 0 else ""
        text = f"{whose}recalled in step{'s' * (len(trace.recalls) > 1)} {steps}"
        marks.append(ui.PassageMark(text, "mdi-head-lightbulb-outline"))
    return marks


def _summary(focus: Focus, who: Any, row: Row) -> ui.Passage:
    source = focus.source
    head = f"{source.title(who)} remembers: {spoken(row, source.called)}"
    go = partial(focus.to_evidence, row["id"], who)
    mark = ui.PassageMark("evidence", "mdi-file-tree", go)
    return ui.Passage(head, text_of(row), [mark], "told")
