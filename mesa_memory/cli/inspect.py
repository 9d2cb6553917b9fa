"""``mesa-memory inspect``: the runs of a store, a memory, or a record."""

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import click

from mesa_memory.cli.console import cell, named, opened
from mesa_memory.cli.output import Output, printed

if TYPE_CHECKING:
    from mesa_memory.runs import Run

#: most lines of evidence, and levels by which they are indented
EVIDENCE_LINES, EVIDENCE_LEVELS = 200, 12
_AGENTS = (
    "agent", "name", "class", "memory", "layers", "records", "first_step", "last_step",
)  # fmt: skip
_RUNS = (
    "id", "name", "model", "differs_in", "seed", "state", "agents", "steps", "calls",
    "started",
)  # fmt: skip
_DECISIONS = ("step", "agent", "question", "answer")
_DOUBTS = ("failures", "asked_again", "doubtful", "given_up")
_STATE = ("step", "layer", "kind", "grade", "text", "id")
_RECALLS = (
    "rank", "shown", "used", "score", "relevance", "importance", "recency", "time_match",
    "text",
)  # fmt: skip
_HISTORY = ("step", "operation", "text", "because", "id")


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--agent", metavar="ID|NAME", help="What this agent remembered.")
@click.option("--step", type=float, help="At the end of this step.  [default: last]")
@click.option("--record", metavar="ID", help="The history and evidence of a record.")
@click.option("--decisions", is_flag=True, help="All decisions, of this agent or step.")
@printed
def inspect(
    run: str,
    agent: str | None,
    step: float | None,
    record: str | None,
    decisions: bool,
    output: Output,
) -> None:
    """Shows a recorded run: an overview, a memory, a record, or the decisions.

    RUN is the path or address of a store; #3 after it is its third run.
    """
    with opened(run) as found:
        if record is not None:
            _record(found, record, output)
        elif decisions:
            _decisions(found, agent, step, output)
        elif agent is not None:
            _memory(found, agent, step, output)
        elif step is not None:
            raise ValueError("--step needs --agent or --decisions")
        else:
            _overview(found, output)


def _overview(run: "Run", output: Output) -> None:
    rows = run.runs(as_records=True)
    output.fields("run", next(row for row in rows if row["id"] == run.id))
    if output.as_json or len(rows) > 1:
        told = rows if output.as_json else _apart(rows)
        output.table("runs", "Runs of this store", _RUNS, told)
    _requests(run, output)
    agents = run.agents(as_records=True)
    has_names = any(row["name"] for row in agents)
    shown = [column for column in _AGENTS if has_names or column != "name"]
    output.table("agents", "Agents", shown, agents)


def _requests(run: "Run", output: Output) -> None:
    """The requests by purpose, with the replies that were in doubt."""
    rows = run.cost(as_records=True)
    shown = [name for name in _DOUBTS if any(row[name] for row in rows)]
    if rows:
        columns = ("purpose", "calls", *shown)
        output.table("requests", "Requests to language models", columns, rows)


def _apart(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of runs with the parameters in which they differ."""
    from mesa_memory.runs.compare import differing_parameters

    apart = differing_parameters([row["parameters"] or {} for row in rows])
    return [row | {"differs_in": named(own)} for row, own in zip(rows, apart)]


def _memory(run: "Run", agent: str, step: float | None, output: Output) -> None:
    rows = run.state(agent, step, as_records=True)
    step = run.steps[-1] if step is None else step
    title = f"Agent {_called(run, agent)} remembered at the end of step {step:g}"
    graded = [{**row, "grade": row["importance"]} for row in rows]
    output.table("state", title, _STATE, rows if output.as_json else _told(run, graded))
    _recalls(run, run.recalls(agent, step, as_records=True), output)
    shown = run.prompt(agent, step)
    if shown:
        output.text("prompt", "Was shown in that step:", shown)


def _decisions(
    run: "Run", agent: str | None, step: float | None, output: Output
) -> None:
    """The end of each question to an agent, and its answer."""
    from mesa_memory.viz.data.decisions import decided

    if output.as_json:
        rows = run.decisions(agent, step, as_records=True)
    else:
        found, called = decided(run, agent, step), {}
        for own in dict.fromkeys(str(each.agent) for each in found):
            called[own] = _called(run, own)
        rows = [vars(each) | {"agent": called[str(each.agent)]} for each in found]
    output.table("decisions", "Decisions", _DECISIONS, rows)


def _told(run: "Run", rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of records with their texts as their agents are shown them."""
    from mesa_memory.runs.telling import told

    texts = told(run, dict.fromkeys(row["id"] for row in rows if row["id"]))
    return [{**row, "text": texts.get(row["id"], row.get("text"))} for row in rows]


def _recalls(run: "Run", rows: list[dict[str, Any]], output: Output) -> None:
    """For people each recall under its purpose and query; for programs one table."""
    if output.as_json:
        if rows:
            output.table("recalls", "", _RECALLS, rows)
        return
    for _, found in groupby(_told(run, rows), itemgetter("seq")):
        several = list(found)
        purpose, query = several[0]["purpose"], several[0]["query"]
        asked = f": {cell(query)}" if query else ""
        output.table("recalls", f"Came to mind, {purpose}{asked}", _RECALLS, several)


def _called(run: "Run", agent: str) -> str:
    """An agent as people call it, and its unique id."""
    own = run.unique_ids[run.name_of(agent)]
    name = run.names.get(own)
    return cell(own) if name is None else f"{cell(name)} ({cell(own)})"


def _record(run: "Run", record: str, output: Output) -> None:
    rows = run.history(record, as_records=True)
    shown = rows if output.as_json else _told(run, rows)
    output.table("history", "History", _HISTORY, shown)
    rows = run.provenance(record, as_records=True)
    lines = list(map(_evidence, _told(run, rows[:EVIDENCE_LINES])))
    if len(rows) > len(lines):
        lines.append(f"… and {len(rows) - len(lines)} more")
    output.report("\n".join(["Because of:", *lines]), provenance=rows)


def _evidence(line: dict[str, Any]) -> str:
    """A line of ``Run.provenance``, below the record that was made from it."""
    indent = "  " * min(line["depth"] + 1, EVIDENCE_LEVELS)
    if line["missing"]:
        return f"{indent}{cell(line['id'])}: not in this run"
    again = " (see above)" if line["repeated"] else ""
    kind, step = cell(line["kind"]), f"step {line['step']:g}"
    return f"{indent}{kind}, {step}: {cell(line['text'])} [{cell(line['id'])}]{again}"
