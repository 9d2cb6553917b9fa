"""A decision of an agent: question, memory in it, answer, tool calls, and what followed."""

from collections.abc import Sequence
from typing import Any

import solara

from mesa_memory.viz.data import decisions as data
from mesa_memory.viz.data.agent import Row
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.views.navigation import to_request
from mesa_memory.viz.widgets import Fold, LongText, Note, Plain, Section, Table, number

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
    if decision["tools"] and not decision["tool_calls"]:
        names = ", ".join(map(str, decision["tools"]))
        Hint(f"It called none of its tools: {names}.")
    if decision["tool_calls"]:
        solara.v.Html(tag="h4", children=["Tool calls"])
        columns = {name: _text_of(name) for name in ("name", "arguments", "result")}
        file = f"decision-{decision['seq']}-tools"
        Table(columns, decision["tool_calls"], file=file)
    solara.v.Html(tag="h4", children=["Events after it"])
    texts = [each["text"] for each in decision["followed"]]
    Lines([data.MemoryLine(text) for text in texts], "Events after it")
    if not texts:
        Hint("No event of the agent until its next request.")
    sent = [decision["system"].strip(), decision["question"]]
    Fold("Text as sent", [Plain("\n\n".join(filter(None, sent)))], if_wide=False)


@solara.component
def Memory(lines: Sequence[data.MemoryLine]) -> Any:
    """The lines of memory in a request; of many, only the used ones are open."""
    solara.v.Html(tag="h4", children=["Memory in it"])
    used = [line for line in lines if line.mark == data.USED]
    if not lines:
        Hint("No text that the agent read of its memory in this step is in it.")
    elif len(lines) <= OPEN_LINES:
        Lines(lines, "Memory in it")
    else:
        if used:
            Lines(used, "Memory used by the answer")
        else:
            Hint("The answer has the words of no line.")
        found = Lines(lines, "Memory in it")
        Fold(f"All {len(lines)} lines", [found], if_wide=False)


@solara.component
def Answer(decision: Row) -> Any:
    """The words of an answer, or the error."""
    if decision["error"] is not None:
        Note(f"There was no usable answer: {decision['error']}", "error")
    elif decision["answer"]:
        LongText("Answer", decision["answer"])
    else:
        solara.v.Html(tag="h4", children=["Answer"])
        Hint("The answer has no text.")


@solara.component
def Lines(lines: Sequence[data.MemoryLine], label: str) -> Any:
    """Texts as a list; nothing in them is markup.

    Args:
        label: describes the list to screen readers.
    """
    children = []
    for line in lines:
        parts: list[Any] = [line.text]
        if line.mark:
            said = f" ({MARKS[line.mark]})"
            parts.append(solara.v.Html(tag="strong", children=[said]))
        name = "mm-used" if line.mark == data.USED else ""
        children.append(solara.v.Html(tag="li", class_=name, children=parts))
    if children:
        attributes = {"aria-label": label, "tabindex": "0"}
        solara.v.Html(
            tag="ul", class_="mm-text mm-list", children=children, attributes=attributes
        )


@solara.component
def Hint(text: str) -> Any:
    """A sentence of less weight."""
    return solara.v.Html(tag="p", class_="mm-hint", children=[text])


def _text_of(name: str) -> Any:
    return lambda call: None if call.get(name) is None else str(call[name])
