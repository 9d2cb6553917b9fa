"""The decisions of all, and one of an agent: question, memory in it, answer, tool calls, and what followed."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import solara

import mesa_memory.viz.widgets as ui
from mesa_memory.runs.past import Row
from mesa_memory.viz.background import use_answer
from mesa_memory.viz.data import decisions as data
from mesa_memory.viz.views.focus import Focus

NO_MEMORY = "The request does not contain memory that the agent read in this step."
#: lines of memory that are all open at first
OPEN_LINES = 12
MARKS = {data.USED: "shares words with answer", data.RECALLED: "recalled"}


@solara.component
def DecisionsView(focus: Focus) -> Any:
    """The decisions of all agents in a table; a click shows one in full."""
    source = focus.source
    rows = use_answer(source, data.decided, says="Reading all decisions …")
    columns: dict[str, Any] = {
        "step": "step",
        **focus.called,
        "end of question": "question",
        "answer": "answer",
    }
    ready = solara.use_memo(lambda: ui.prepared(columns, rows or ()), [id(rows)])
    if rows is None:
        return
    now = sum(row["step"] == focus.step for row in rows)
    with solara.Column(gap="0px"):
        ui.Answer(
            f"In step {focus.at}, {len(source.agent_ids)} agents made {now} "
            f"decisions; the run has {len(rows):,}."
        )
        with ui.Section("Decisions", "a click shows question, memory and answer"):
            ui.Table(
                columns,
                rows,
                ready=ready,
                file="decisions",
                marked=lambda row: row["step"] == focus.step,
                mark="made in this step",
                on_pick=lambda row: focus.to_agent(row["agent"], row["step"]),
                page=25,
                sort="step",
                down=True,
            )


@solara.component
def Decisions(focus: Focus) -> Any:
    """The agent's own requests of the step, in order."""
    found = focus.of(data.decisions)
    for place, decision in enumerate(found, 1):
        title = f"Decision: {data.name_of(decision, focus.past)}"
        hint = f"{place} of {len(found)} in step {focus.at}"
        with ui.Section(title, f"{hint}, asked of {decision['model']}"):
            Decision(decision)
            go = partial(focus.to_request, str(decision["seq"]))
            solara.Button("Tokens and cost", on_click=go, text=True, small=True)


def Decision(decision: Row) -> Any:
    """All of a decision.

    Args:
        decision: a row of ``Run.decisions``.
    """
    error, calls = decision["error"], decision["tool_calls"]
    asked = [ui.long_text("Question", decision["question_only"]), *memory(decision)]
    with solara.Div():
        ui.Texts(asked if error is not None else [*asked, _answer(decision)]).key(
            "asked"
        )
        if error is not None:
            ui.Note(f"There was no usable answer: {error}", "error")
        if calls:
            names, file = "name arguments result", f"decision-{decision['seq']}-tools"
            rows = [{n: _text_of(call, n) for n in names.split()} for call in calls]
            ui.Table(ui.named(names), rows, title="Tool calls", file=file)
        ui.Texts(list(_after(decision))).key("after")


def memory(decision: Row) -> list[ui.TextBlock]:
    """The lines of memory in a request; of many, only the used ones are open."""
    lines = data.memory_lines(decision)
    few = len(lines) <= OPEN_LINES
    shown = [line for line in lines if few or line[0] == data.USED]
    none = "The answer does not use the words of a line." if lines else NO_MEMORY
    found = [ui.TextBlock("Memory in it", _pieces(shown), "" if shown else none)]
    if len(shown) < len(lines):
        found.append(
            ui.TextBlock(f"All {len(lines)} lines", _pieces(lines), folded=True)
        )
    return found


def _pieces(lines: Sequence[data.Piece]) -> list[data.Piece]:
    """The lines with their marks, in words too."""
    told = {mark: f" ({words})" for mark, words in MARKS.items()}
    return [(mark, f"{text}{told.get(mark, '')}\n") for mark, text in lines]


def _answer(decision: Row) -> ui.TextBlock:
    if decision["answer"]:
        return ui.long_text("Answer", decision["answer"])
    return ui.TextBlock("Answer", hint="The answer has no text.")


def _after(decision: Row) -> Iterator[ui.TextBlock]:
    """Tools that were not called, the events after the answer, and the whole request."""
    if decision["tools"] and not decision["tool_calls"]:
        names = ", ".join(map(str, decision["tools"]))
        yield ui.TextBlock("Tool calls", hint=f"It called none of its tools: {names}.")
    events = "\n".join(each["text"] for each in decision["followed"])
    none = "" if events else "No events before its next request."
    yield ui.TextBlock("Events after it", events, none)
    sent = [decision["system"].strip(), decision["question"]]
    yield ui.TextBlock("Text as sent", "\n\n".join(filter(None, sent)), folded=True)


def _text_of(call: Row, name: str) -> str | None:
    return None if call.get(name) is None else str(call[name])
