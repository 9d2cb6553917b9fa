"""The requests of an agent to a language model in a step, and the replies."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import solara

import mesa_memory.viz.widgets as ui
from mesa_memory.core.codec import readable
from mesa_memory.core.content import brief, count_tokens
from mesa_memory.core.text.tool_calls import functions
from mesa_memory.runs import Run
from mesa_memory.runs.past import Row
from mesa_memory.runs.recorded import logged
from mesa_memory.stores.schema import calls
from mesa_memory.viz.data import agent as memories
from mesa_memory.viz.data.decisions import decisions, name_of
from mesa_memory.viz.views.cost import written
from mesa_memory.viz.views.decisions import Decision
from mesa_memory.viz.views.empty import EmptyView
from mesa_memory.viz.views.focus import Focus

#: longest value of a setting
SETTING_CHARS = 80
#: reasons of providers for the end of a reply, in plain words
FINISHED = {
    "stop": "finished normally",
    "length": "cut at its limit",
    "tool_calls": "called a tool",
    "content_filter": "withheld by a filter",
}


def requests(run: Run, agent: Any, after: float, step: float) -> list[Row]:
    """An agent's requests of a step, in the order they were recorded.

    Each has the columns of ``schema.calls``, and besides ``id`` (its place in the run, as
    text), ``messages`` (role and text, oldest first), ``tools`` (``name`` and
    ``arguments`` of the calls in the reply), ``outcome`` in a few words, and ``round``:
    ``"repair"`` if it asks again after a reply that could not be used, else ``"first"``.
    ``sent_with`` has the settings of its sending as texts, by name.

    Args:
        after: the finished step before it; what came between the two belongs to it.
    """
    within = (calls.c.step > after, calls.c.step <= step)
    rows = run.records(logged(run, calls, agent, None).where(*within))
    return [_request(row) for row in rows]


def _request(row: Row) -> Row:
    given = [one for one in row["prompt"] or () if isinstance(one, Mapping)]
    messages = [(str(m.get("role") or "?"), _said(m.get("content"))) for m in given]
    return row | {
        "id": str(row["seq"]),
        "messages": messages,
        "reply": row["reply"] or "",
        "tools": [
            {"name": str(one["name"]), "arguments": _said(one.get("arguments"))}
            for one in functions(row["raw"])
            if one.get("name")
        ],
        "outcome": _outcome(row),
        "round": "repair" if row["repairs"] else "first",
        "sent_with": {
            str(name): brief(str(readable(value)), SETTING_CHARS)
            for name, value in (row["settings"] or {}).items()
        },
    }


def _outcome(row: Row) -> str:
    if row["error"] is not None:
        return "failed"
    if row["replayed"]:
        end = "from a recorded run"
    else:
        finish = str(row["finish"] or "stop")
        end = "from a cache" if row["cached"] else FINISHED.get(finish, finish)
    return f"{end}, doubtful" if row["doubtful"] else end


def _said(content: Any) -> str:
    """The text of a message; other parts as JSON."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return json.dumps(content, ensure_ascii=False, indent=1)


#: names of the roles of messages, as people read them
ROLES = {"system": "system text", "user": "prompt", "assistant": "earlier reply"}
#: a line that is a heading: it stands alone, and what agents say never does
_HEADING = re.compile(r"#{0,4} ?(?P<name>[A-Z][^:\n]{1,60}):?\s*")
#: lines of events, and the steps above them
_CONTENT = re.compile(r"- |\d|Step |Steps |\(")


@dataclass(frozen=True)
class RequestPart:
    """A part of a request.

    Attributes:
        role: role of its message, see ``ROLES``.
        name: its heading; empty before the first one.
        memory: it is a text of the agent's memory.
        tokens: an estimate.
    """

    role: str
    name: str
    text: str
    memory: bool
    tokens: int

    @property
    def label(self) -> str:
        """Role and heading."""
        return f"{self.role}: {self.name}" if self.name else self.role


def parts(
    messages: Iterable[tuple[str, str]], memories: Iterable[str] = ()
) -> list[RequestPart]:
    """The parts of a request, heading by heading, in order.

    Args:
        messages: (role, text).
        memories: the texts of memory that the agent was shown in this step.
    """
    shown = " ".join(" ".join(text.split()) for text in memories)
    found = []
    for role, text in messages:
        for name, lines in _blocks(text):
            told = "\n".join(lines).strip()
            if not told:
                continue
            body = " ".join(" ".join(lines[bool(name) :]).split())
            memory = bool(body) and body in shown
            said = ROLES.get(role, role)
            found.append(RequestPart(said, name, told, memory, count_tokens(told)))
    return found


def _blocks(text: str) -> list[tuple[str, list[str]]]:
    """(heading, lines) of each block; the heading is the first of its lines."""
    blocks: list[tuple[str, list[str]]] = [("", [])]
    for line in text.splitlines():
        name = _heading(line)
        if name:
            blocks.append((name, [line]))
        else:
            blocks[-1][1].append(line)
    return blocks


def _heading(line: str) -> str:
    """The name in a line that is a heading; empty for any other line."""
    if _CONTENT.match(line) or not (
        line.startswith("#") or line.rstrip().endswith(":")
    ):
        return ""
    found = _HEADING.fullmatch(line.strip())
    return found["name"].strip() if found else ""


@solara.component
def RequestsView(focus: Focus) -> Any:
    """The requests of the agent in the step; one of them in full."""
    found = focus.source.of(requests, focus.agent, focus.previous, focus.step)
    title = f"Requests of agent {focus.name}, step {focus.at}"
    if not found:
        EmptyView(focus, "requests", f"{focus.title} asked nothing in this step.")
        return
    places = [request["id"] for request in found]
    chosen = focus.selection.option("request", places[0], places)
    request = found[places.index(chosen)]
    with solara.Column(gap="0px"):
        ui.Answer(_answer(focus, found))
        with ui.Section(title, "in the order of their purposes; click one to read it"):
            Listed(focus, found, chosen)
        own = [d for d in focus.of(decisions) if str(d["seq"]) == chosen]
        # Of one kind, another request takes the place of the one before, widget by widget.
        with solara.Column(gap="0px").key("decision" if own else "request"):
            if own:
                title = f"Decision: {name_of(own[0], focus.past)}"
                with ui.Section(title, request["outcome"]):
                    Route(request)
                    Decision(own[0])
            else:
                Sent(request)
            ContextWindow(focus, request)
            if not own:
                Reply(request)


def _answer(focus: Focus, found: list[Row]) -> str:
    tokens = sum((one["tokens_in"] or 0) + (one["tokens_out"] or 0) for one in found)
    failed = sum(one["error"] is not None for one in found)
    return (
        f"In step {focus.at}, {focus.title} asked a language model "
        f"{ui.counted(len(found), 'time')}, with {ui.counted(tokens, 'token')}; "
        f"{failed or 'none'} of the requests failed."
    )


def Listed(focus: Focus, found: list[Row], chosen: str) -> Any:
    """All requests of the step; a click chooses one."""
    keys = "purpose outcome round tokens_in tokens_cached tokens_out cost latency"
    columns = ui.named(f"{keys} attempts tools tier model")
    columns["tools"] = lambda one: len(one["tools"])
    more = focus.chosen("request", chosen, "shown below")
    ui.Table(columns, found, file=focus.file("requests"), **more)


def Route(row: Row) -> Any:
    """The model that was asked, its settings, and tokens and cost."""
    names = ("model", "tier", "client", "form")
    tokens = ("tokens_in", "tokens_cached", "tokens_out")
    ui.Facts(
        {name: row[name] for name in names if row[name]}
        | row["sent_with"]
        | {name.replace("_", " "): written(name, row[name]) for name in tokens}
        | {"cost": written("cost", row["cost"])}
    )


def Sent(row: Row) -> Any:
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


def Reply(request: Row) -> Any:
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
    found = parts(request["messages"], [row["text"] or "" for row in shown])
    if not found:
        return
    sent = request["tokens_in"]
    counted = sum(part.tokens for part in found)
    known = "" if sent is None else f"; the provider counted {sent:,}"
    hint = f"about {counted:,} tokens, four characters each{known}"
    columns: dict[str, Any] = {
        "part": "label",
        "from": lambda part: "memory" if part.memory else "instructions",
        "tokens": "tokens",
        "share": lambda part: round(part.tokens / counted, 4),
        "begins with": lambda part: brief(part.text, TABLE_CHARS),
    }
    with ui.Section("Context window", hint):
        ui.Table(columns, found, file=f"request-{request['id']}-parts")
