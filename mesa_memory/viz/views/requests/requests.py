"""What an agent's language model was asked in a step, and what it answered."""

from typing import Any

import solara

from mesa_memory.viz.data import agent as memories
from mesa_memory.viz.data import interventions
from mesa_memory.viz.data.requests import origins
from mesa_memory.viz.data.requests import requests as data
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.views.navigation import to_evidence
from mesa_memory.viz.views.nothing import NoMemories
from mesa_memory.viz.views.requests.cost import written
from mesa_memory.viz.views.requests.parts import Window
from mesa_memory.viz.widgets import Column, Empty, Fact, Note, Plain, Section, Table
from mesa_memory.viz.widgets.timeline import number

HEADS = (
    Column("purpose"),
    Column("answered"),
    Column("round"),
    Column("tokens in", number=True),
    Column("of them cached", number=True),
    Column("tokens out", number=True),
    Column("US dollars", number=True),
    Column("seconds", number=True),
    Column("sent", number=True),
    Column("tools", number=True),
    Column("tier"),
    Column("model"),
)
RECORDS = (
    Column("record"),
    Column("kind"),
    Column("grade", number=True),
    Column("text", wide=True),
)
TOOLS = (Column("tool"), Column("arguments", wide=True))
NEVER = (
    "never asked a language model. Memories such as STLTMemory, FactMemory and "
    "EpisodicMemory do, and so does reasoning after route_reasoning(agent)."
)


@solara.component
def RequestsView(source: Source, selection: Selection) -> Any:
    """The requests of the agent in the step; one of them in full."""
    agent, step = selection.agent(source), selection.step(source)
    if agent is None or step is None:
        NoMemories()
        return
    after = memories.previous(source.steps, step)
    found = source.of(data.requests, agent, after, step)
    if not found:
        Never(source, selection, agent, step)
        return
    places = [request.id for request in found]
    chosen = selection.option("request", places[0], places)
    request = found[places.index(chosen)]
    with solara.Column(gap="0px"):
        Listed(source, selection, found, chosen, agent, step)
        Whole(source, selection, found, request, agent).key(chosen)


@solara.component
def Never(source: Source, selection: Selection, agent: Any, step: float) -> Any:
    """Says that nothing was asked, and where something was."""
    steps = [s for s in source.of(data.request_steps, agent) if s in source.steps]
    with Section(f"Requests of agent {source.called(agent)}, step {number(step)}"):
        if not steps:
            Empty(
                f"Agent {source.called(agent)} {NEVER}",
                "mdi-comment-remove-outline",
                "See who did",
                lambda: selection.choose(view="cost"),
            )
            return
        to = max((s for s in steps if s < step), default=steps[0])
        Empty(
            f"Agent {source.called(agent)} asked nothing in this step.",
            "mdi-message-minus-outline",
            f"Go to step {number(to)}, where it did",
            lambda: selection.choose(step=to),
        )


@solara.component
def Listed(
    source: Source,
    selection: Selection,
    found: list[data.Request],
    chosen: str,
    agent: Any,
    step: float,
) -> Any:
    """All requests of the step; a click chooses one."""
    places = [request.id for request in found]
    with Section(
        f"Requests of agent {source.called(agent)}, step {number(step)}",
        hint="in the order of their purposes; click one to read it",
    ):
        with solara.Div(classes=["mm-row"]):
            Fact("requests", str(len(found)))
            for label, count in _counts(found).items():
                Fact(label, f"{count:,}")
        Table(
            HEADS,
            [_cells(request) for request in found],
            file=f"agent-{agent}-step-{number(step)}-requests",
            marked=[places.index(chosen)],
            mark="shown below",
            on_pick=lambda n: selection.set_option("request", places[n]),
        )


@solara.component
def Whole(
    source: Source,
    selection: Selection,
    found: list[data.Request],
    request: data.Request,
    agent: Any,
) -> Any:
    """One request: its context window, its words, its reply, and what came of it."""
    row = request.row
    what = f"Request for {row['purpose'] or 'an unknown purpose'}"
    with Section(what, hint=f"number {row['occurrence'] or 1} of this step"):
        Facts(selection, found, request)
        for role, text in request.messages:
            name = "earlier reply" if role == "assistant" else f"sent as {role}"
            solara.v.Html(tag="h4", children=[name])
            with solara.Div(classes=["mm-prompt"]):
                Plain(text)
        if not request.messages:
            Empty("The words of this request were not recorded.")
    Window(source, request, agent)
    with Section("Reply", hint=request.outcome):
        if row["error"] is not None:
            Note(f"No usable answer came: {row['error']}", "error")
        if request.reply:
            with solara.Div(classes=["mm-prompt"]):
                Plain(request.reply)
        elif row["error"] is None:
            Empty("The reply has no text.", "mdi-comment-remove-outline")
        if request.tools:
            solara.v.Html(tag="h4", children=["Tools that it calls"])
            rows = [[call.name, call.arguments] for call in request.tools]
            Table(TOOLS, rows, file=f"request-{request.id}-tools")
    Became(source, selection, found, request, agent)


@solara.component
def Facts(
    selection: Selection, found: list[data.Request], request: data.Request
) -> Any:
    """What the provider said of it, and the request that it repairs."""
    row = request.row
    with solara.Div(classes=["mm-row"]):
        Fact("model", row["model"] or "–")
        for name, label in (("tier", "tier"), ("client", "sent by"), ("form", "form")):
            if row[name]:
                Fact(label, str(row[name]))
        Fact("tokens in", _count(row["tokens_in"]))
        Fact("of them cached", _count(row["tokens_cached"]))
        Fact("tokens out", _count(row["tokens_out"]))
        Fact("cost", written("cost", row["cost"]))
    before = data.refused(request, found)
    if request.repairs:
        Note("The reply before this one could not be used, so it was asked for again.")
    if before is not None:
        solara.Button(
            "See the refused reply",
            icon_name="mdi-arrow-left",
            on_click=lambda: selection.set_option("request", before.id),
        )


@solara.component
def Became(
    source: Source,
    selection: Selection,
    found: list[data.Request],
    request: data.Request,
    agent: Any,
) -> Any:
    """The records that came of a request; a click shows their evidence."""
    past = source.of(memories.past, agent)
    changed = source.of(interventions.interventions)
    made = origins.made(request, past, found, interventions.made_by_hand(changed))
    graded = origins.graded(request, past)
    rows = [*made, *graded]
    with Section(
        "What came of it", hint="records found by step, purpose and words of the reply"
    ):
        Table(
            RECORDS,
            [
                [row["id"], row["kind"], row["importance"], memories.text_of(row)]
                for row in rows
            ],
            file=f"request-{request.id}-records",
            on_pick=lambda n: to_evidence(selection, rows[n]["id"], agent),
            empty="No record has the words of this reply: it was for an action, for a "
            "decision, or could not be used.",
        )


def _counts(found: list[data.Request]) -> dict[str, int]:
    """What one wants to know of all of them, if there is any of it."""
    counts = {
        "repairs": sum(request.repairs for request in found),
        "failed": sum(request.row["error"] is not None for request in found),
        "not sent": sum(bool(r.row["cached"] or r.row["kept"]) for r in found),
    }
    tokens = {
        "tokens in": sum(r.row["tokens_in"] or 0 for r in found),
        "of them cached": sum(r.row["tokens_cached"] or 0 for r in found),
        "tokens out": sum(r.row["tokens_out"] or 0 for r in found),
    }
    return tokens | {name: count for name, count in counts.items() if count}


def _count(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"


def _cells(request: data.Request) -> list[Any]:
    row = request.row
    return [
        row["purpose"],
        request.outcome,
        "repair" if request.repairs else "first",
        row["tokens_in"],
        row["tokens_cached"],
        row["tokens_out"],
        row["cost"],
        row["latency"],
        row["attempts"],
        len(request.tools),
        row["tier"],
        row["model"],
    ]
