"""The requests of an agent to a language model in a step, and the replies."""

from typing import Any

import solara

import mesa_memory.viz.widgets as ui
from mesa_memory.core.content import brief
from mesa_memory.viz.data import agent as memories
from mesa_memory.viz.data.decisions import decisions
from mesa_memory.viz.data.requests import requests as data
from mesa_memory.viz.views.decisions import Decision
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.views.nothing import Elsewhere
from mesa_memory.viz.views.requests.cost import written


@solara.component
def RequestsView(focus: Focus) -> Any:
    """The requests of the agent in the step; one of them in full."""
    found = focus.source.of(data.requests, focus.agent, focus.previous, focus.step)
    title = f"Requests of agent {focus.name}, step {ui.number(focus.step)}"
    if not found:
        Elsewhere(focus, "requests", f"{focus.title} asked nothing in this step.")
        return
    places = [request["id"] for request in found]
    chosen = focus.selection.option("request", places[0], places)
    request = found[places.index(chosen)]
    with solara.Column(gap="0px"):
        ui.Answer(_answer(focus, found))
        with ui.Section(title, "in the order of their purposes; click one to read it"):
            Listed(focus, found, chosen)
        with solara.Column(gap="0px").key(chosen):
            own = [d for d in focus.of(decisions) if str(d["seq"]) == chosen]
            if own:
                Own(request, own[0])
            else:
                Sent(request)
            ContextWindow(focus, request)
            if not own:
                Reply(request)


def _answer(focus: Focus, found: list[data.Row]) -> str:
    tokens = sum((one["tokens_in"] or 0) + (one["tokens_out"] or 0) for one in found)
    failed = sum(one["error"] is not None for one in found)
    return (
        f"In step {ui.number(focus.step)}, {focus.title} asked a language model "
        f"{len(found)} time{'s' * (len(found) != 1)}, with {tokens:,} tokens; "
        f"{failed or 'none'} of the requests failed."
    )


def Listed(focus: Focus, found: list[data.Row], chosen: str) -> Any:
    """All requests of the step; a click chooses one."""
    ui.Table(
        {
            "purpose": "purpose",
            "answered": "outcome",
            "round": "round",
            "tokens in": "tokens_in",
            "tokens cached": "tokens_cached",
            "tokens out": "tokens_out",
            "US dollars": "cost",
            "seconds": "latency",
            "attempts": "attempts",
            "tools": lambda one: len(one["tools"]),
            "tier": "tier",
            "model": "model",
        },
        found,
        file=focus.file("requests"),
        marked=lambda one: one["id"] == chosen,
        mark="shown below",
        on_pick=lambda one: focus.selection.set_option("request", one["id"]),
    )


def Own(row: data.Row, decision: data.Row) -> Any:
    """A request of the agent itself, as in the view Agent."""
    with ui.Section(f"Decision: {row['purpose']}", row["outcome"]):
        Route(row)
        Decision(decision)


def Route(row: data.Row) -> Any:
    """The model that was asked, its settings, and tokens and cost."""
    names = ("model", "tier", "client", "form")
    tokens = ("tokens_in", "tokens_cached", "tokens_out")
    ui.Facts(
        {name: row[name] for name in names if row[name]}
        | row["sent_with"]
        | {name.replace("_", " "): written(name, row[name]) for name in tokens}
        | {"cost": written("cost", row["cost"])}
    )


def Sent(row: data.Row) -> Any:
    """The words of a request, and its route."""
    title = f"Request for {row['purpose'] or 'an unknown purpose'}"
    with ui.Section(title, f"number {row['occurrence'] or 1} of this step"):
        Route(row)
        if row["round"] == "repair":
            ui.Note("It repairs a reply of this step that could not be used.")
        if row["messages"]:
            ui.Texts([_message(*message) for message in row["messages"]])
        else:
            ui.Empty("The words of this request were not recorded.")


def _message(role: str, text: str) -> ui.TextBlock:
    head = "earlier reply" if role == "assistant" else f"sent as {role}"
    return ui.TextBlock(head, text, sent=True)


def Reply(request: data.Row) -> Any:
    """The reply, with the tools that it calls."""
    error = request["error"]
    with ui.Section("Reply", request["outcome"]):
        if error is not None:
            ui.Note(f"There was no usable reply: {error}", "error")
        if doubt := request["doubtful"]:
            several = request["purpose"] == "impression"
            what = "impressions are" if several else "the summary"
            ui.Note(f"The reply is doubtful: {what} {doubt}.")
        if request["reply"]:
            ui.Plain(request["reply"], sent=True)
        elif error is None:
            ui.Empty("The reply has no text.", "mdi-comment-remove-outline")
        if request["tools"]:
            columns = {"tool": "name", "arguments": "arguments"}
            file = f"request-{request['id']}-tools"
            ui.Table(columns, request["tools"], title="Tool calls", file=file)


#: characters of a part in the table; the request above has all
TABLE_CHARS = 160


def ContextWindow(focus: Focus, request: memories.Row) -> Any:
    """The parts that filled the context window, with their shares of tokens."""
    shown = focus.source.of(memories.shown, focus.agent, request["step"])
    found = data.parts(request["messages"], [row["text"] or "" for row in shown])
    if not found:
        return
    sent = request["tokens_in"]
    counted = sum(part.tokens for part in found)
    known = "" if sent is None else f"; the provider counted {sent:,}"
    with ui.Section(
        "Context window", f"about {counted:,} tokens, four characters each{known}"
    ):
        ui.Table(
            {
                "part": "label",
                "from": lambda part: "memory" if part.memory else "instructions",
                "tokens": "tokens",
                "share": lambda part: round(part.tokens / counted, 4),
                "begins with": lambda part: brief(part.text, TABLE_CHARS),
            },
            found,
            file=f"request-{request['id']}-parts",
        )
