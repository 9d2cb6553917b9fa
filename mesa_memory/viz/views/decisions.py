"""A decision of an agent: question, memory in it, answer, tool calls, and what followed."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import solara

from mesa_memory.viz.data import decisions as data
from mesa_memory.viz.data.agent import Row
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.views.navigation import to_request
from mesa_memory.viz.widgets import (
    Fold,
    Hint,
    LongText,
    Note,
    Plain,
    Section,
    Table,
    number,
)

NO_MEMORY = "The request does not contain memory that the agent read in this step."
#: lines of memory that are all open at first
OPEN_LINES = 12
MARKS = {data.USED: "used by the answer", data.RECALLED: "recalled"}


@solara.component
def Decisions(focus: Focus) -> Any:
    """The agent's own requests of the step, in order."""
    found = focus.of(data.decisions)
    for place, decision in enumerate(found, 1):
        title = f"Decision: {decision['purpose']}"
        hint = f"{place} of {len(found)} in step {number(focus.step)}"
        with Section(title, hint=f"{hint}, asked of {decision['model']}"):
            Decision(decision)
            go = _to_request(focus, decision)
            solara.Button("Tokens and cost", on_click=go, text=True, small=True)


def _to_request(focus: Focus, decision: Row) -> Any:
    request, agent = str(decision["seq"]), focus.agent
    return lambda: to_request(focus.selection, request, focus.step, agent)


@solara.component
def Decision(decision: Row) -> Any:
    """All of a decision.

    Args:
        decision: a row of ``Run.decisions``.
    """
    LongText("Question", data.question(decision))
    Memory(data.memory_lines(decision))
    Answer(decision)
    if decision["tool_calls"]:
        columns = {name: _text_of(name) for name in ("name", "arguments", "result")}
        file = f"decision-{decision['seq']}-tools"
        Headed("Tool calls", Table(columns, decision["tool_calls"], file=file))
    elif decision["tools"]:
        names = ", ".join(map(str, decision["tools"]))
        Headed("Tool calls", Hint(f"It called none of its tools: {names}."))
    events = "\n".join(each["text"] for each in decision["followed"])
    none = "No events before its next request."
    Headed("Events after it", Plain(events) if events else Hint(none))
    sent = [decision["system"].strip(), decision["question"]]
    Fold("Text as sent", [Plain("\n\n".join(filter(None, sent)))], if_wide=False)


@solara.component
def Memory(lines: Sequence[data.MemoryLine]) -> Any:
    """The lines of memory in a request; of many, only the used ones are open."""
    shown = [line for line in lines if line.mark == data.USED]
    if len(lines) <= OPEN_LINES:
        shown = list(lines)
    none = "The answer does not use the words of a line." if lines else NO_MEMORY
    Headed("Memory in it", Plain(_pieces(shown)) if shown else Hint(none))
    if len(shown) < len(lines):
        Fold(f"All {len(lines)} lines", [Plain(_pieces(lines))], if_wide=False)


def _pieces(lines: Sequence[data.MemoryLine]) -> list[tuple[str, str]]:
    """Lines for ``Plain``; those without a mark are one piece as long as none comes."""
    texts = [
        (line.mark, line.text + (f" ({MARKS[line.mark]})" if line.mark else "") + "\n")
        for line in lines
    ]
    found = groupby(texts, key=lambda text: text[0])
    return [(mark, "".join(text for _, text in several)) for mark, several in found]


@solara.component
def Answer(decision: Row) -> Any:
    """The words of an answer, or the error."""
    if decision["error"] is not None:
        Note(f"There was no usable answer: {decision['error']}", "error")
    elif decision["answer"]:
        LongText("Answer", decision["answer"])
    else:
        Headed("Answer", Hint("The answer has no text."))


@solara.component
def Headed(title: str, content: Any) -> Any:
    """A part with a heading."""
    head = solara.v.Html(tag="h4", children=[title])
    return solara.v.Html(tag="div", children=[head, content])


def _text_of(name: str) -> Any:
    return lambda call: None if call.get(name) is None else str(call[name])
