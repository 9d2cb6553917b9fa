"""Commands that read recorded runs."""

import pkgutil
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import mesa_memory.cli.output as options
from mesa_memory.cli.output import (
    COUNT,
    Output,
    cell,
    flag,
    named,
    opened,
    option,
    printed,
    rows_of,
    say_loading,
)
from mesa_memory.core.content import dollars

if TYPE_CHECKING:
    from mesa_memory.runs import Run
    from mesa_memory.runs.compare import Difference


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
_STATE = ("step", "layer", "kind", "grade", "text", "id")
_RECALLS = (
    "rank", "shown", "used", "score", "relevance", "importance", "recency", "time_match",
    "text",
)  # fmt: skip
_HISTORY = ("step", "operation", "text", "because", "id")


@click.command()
@click.argument("run", metavar="RUN")
@option("--agent", "What this agent remembered.", metavar="ID|NAME")
@option("--step", "At the end of this step.  [default: last]", type=float)
@option("--record", "The history and evidence of a record.", metavar="ID")
@flag("--decisions", "All decisions, of this agent or step.")
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
    agents = run.agents(as_records=True)
    has_names = any(row["name"] for row in agents)
    shown = [column for column in _AGENTS if has_names or column != "name"]
    output.table("agents", "Agents", shown, agents)


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
    if output.as_json:
        output.text("prompt", "", run.prompt(agent, step))
    else:
        _shown(run, agent, step, output)


def _shown(run: "Run", agent: str, step: float, output: Output) -> None:
    """Each text of memory that an agent read, with the question in which it stood."""
    from mesa_memory.viz.data.decisions import end_of

    asked = run.decisions(agent, step, as_records=True)
    rows = run.prompts(agent, step, as_records=True)
    for text in filter(None, (row["text"] for row in rows)):
        about = [row for row in asked if text.strip() in row["memory"]][:1]
        question = "".join(f" for “{end_of(row['question_only'])}”" for row in about)
        output.text("prompt", f"Was shown in that step{question}:", text)
        asked = [row for row in asked if row not in about]


def _decisions(
    run: "Run", agent: str | None, step: float | None, output: Output
) -> None:
    """The end of each question to an agent, and its answer."""
    from mesa_memory.viz.data.decisions import decided

    if output.as_json:
        rows = run.decisions(agent, step, as_records=True)
    else:
        called, found = cache(partial(_called, run)), decided(run, agent, step)
        rows = [each | {"agent": called(str(each["agent"]))} for each in found]
    output.table("decisions", "Decisions", _DECISIONS, rows)


def _told(run: "Run", rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of records with their texts as their agents are shown them."""
    from mesa_memory.runs.past import told

    texts = told(run, dict.fromkeys(row["id"] for row in rows if row["id"]))
    return [{**row, "text": texts.get(row["id"], row.get("text"))} for row in rows]


def _recalls(run: "Run", rows: list[dict[str, Any]], output: Output) -> None:
    """For people each recall under its purpose and query; for programs one table."""
    if output.as_json:
        if rows:
            output.table("recalls", "", _RECALLS, rows)
        return
    from mesa_memory.runs.past import with_repetitions

    told = with_repetitions(run, _told(run, rows))
    for _, found in groupby(told, itemgetter("seq")):
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


#: longest text of a side
SIDE_CHARS = 2_000


@click.command()
@click.argument("left", metavar="RUN_A")
@click.argument("right", metavar="RUN_B")
@option(
    "--by",
    "Compare all records, or only the agents' events, matched "
    "by kind, agent, step and text.  [default: event if the memories are of different "
    "classes, else record]",
    type=click.Choice(("record", "event")),
)
def diff(left: str, right: str, by: str | None) -> None:
    """Shows the first difference of two recorded runs.

    The exit code is 0 if they are equal, 1 if not, and 2 if they cannot be compared.
    Each run is the path or address of a store; #3 after it is its third run.
    """
    with opened(left) as mine, opened(right) as theirs:
        parting = mine.parting(theirs, None if by is None else by == "event")
    for letter, parameters in zip("AB", parting.parameters):
        if parameters:
            print(f"{letter} was made with {named(parameters)}")
    if parting.events:
        print("Only the agents' events are compared, not their memories of them.")
    found = parting.first
    if found is None:
        print("The runs are equal.")
        return
    _show(found, (left, right))
    sys.exit(1)


def _show(found: "Difference", names: tuple[str, str]) -> None:
    sides = list(zip(("A", "B"), names, (found.left, found.right)))
    what = f"The first difference is at step {found.step:g}, in {found.table}"
    print(f"{what}: {', '.join(found.fields) or 'only one run has this'}.")
    row = found.left or found.right or {}
    for name, value in row.items():
        if name not in found.fields and isinstance(value, str | int) and found.fields:
            print(f"  {name}: {cell(value)}")
    for letter, name, side in sides:
        print(f"{letter}  {cell(name)}")
        if side is None:
            print("     has none")
            continue
        for field in found.fields or side:
            print(f"     {field}: {cell(side[field], SIDE_CHARS)}")


_SUMS = (
    "calls", "tokens_in", "tokens_cached", "tokens_out", "cost", "latency", "failures",
    "asked_again", "doubtful", "given_up", "cached_calls",
)  # fmt: skip
#: columns that are shown only where there is something to show
_WHERE_KNOWN = ("tokens_cached", "cached_calls")


@click.command()
@click.argument("run", metavar="RUN")
@option(
    "--by",
    "What to sum by, such as agent, step or model; may be given several times.",
    ("purpose",),
    multiple=True,
    metavar="COLUMN",
)
@printed
def cost(run: str, by: tuple[str, ...], output: Output) -> None:
    """Sums calls, tokens and money of a recorded run.

    RUN is the path or address of a store; #3 after it is its third run.
    """
    with opened(run) as found:
        names = list(dict.fromkeys(by))
        rows = found.cost(names, as_records=True)
        total = found.cost((), as_records=True)[0]
        total |= dict.fromkeys(names) | {names[0]: "total"}
        if not output.as_json:
            rows, total = [_priced(row) for row in rows], _priced(total)
        called = found.names if "agent" in names else {}
        for row in rows:
            if name := called.get(row.get("agent")):
                row["agent"] = f"{name} ({row['agent']})"
        sums = [name for name in _SUMS if name not in _WHERE_KNOWN or total[name]]
        title = f"Cost of run {found.id}"
        output.table("cost", title, [*names, *sums], [*rows, total])


def _priced(row: dict[str, Any]) -> dict[str, Any]:
    """An unknown cost is not shown as nothing."""
    known = row["cost"] is not None
    price = dollars(row["cost"]) if known else f"unknown ({row['unpriced']} calls)"
    return row | {"cost": price}


@click.command()
@click.argument("run", metavar="RUN")
@options.page_out
@option(
    "--agents",
    "Whose memory is shown in full.  [default: the six with most to tell]",
    metavar="ID|NAME,...",
    callback=options.names,
)
@option(
    "--about", "Show how this text spreads.", "", metavar="TEXT", show_default=False
)
@option(
    "--megabytes",
    "Largest size of the file; the report names its omissions.",
    5.0,
    click.FloatRange(min=0.1),
)
@options.overwrite
def report(
    run: str,
    out: Path,
    agents: list[str] | None,
    about: str,
    megabytes: float,
    overwrite: bool,
) -> None:
    """Writes a recorded run as one HTML file, to be sent and opened anywhere.

    RUN is the path or address of a store; #3 after it is its third run. The file needs
    no server, no network and no installation: it plays the story, and shows curves, the
    memory of some agents, why they recalled what, cost and methods.
    """
    with opened(run) as found:
        from mesa_memory.viz.report import write_report

        largest = int(megabytes * 1_000_000)
        written = write_report(
            found, out, agents, about=about, largest=largest, overwrite=overwrite
        )
    size = written.size / 1_000_000
    print(f"Wrote {written.path} ({size:.1f} MB)")
    for note in written.notes:
        print(note)


@click.command()
@click.argument("run", metavar="RUN")
@option(
    "--out",
    "Folder for the files, one for each table.",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    metavar="DIR",
)
@option(
    "--panel",
    "Instead, one row for each agent and step, with a codebook; csv or parquet.",
    type=click.Choice(["csv", "parquet"]),
    is_flag=False,
    flag_value="csv",
)
@flag("--no-texts", "Of a panel, leave out all texts of agents and models.")
def export(run: str, out: Path, panel: str | None, no_texts: bool) -> None:
    """Writes a recorded run as CSV files, one for each table.

    RUN is the path or address of a store; #3 after it is its third run.
    """
    with opened(run) as found:
        if panel:
            path = found.panel(out / f"panel.{panel}", texts=not no_texts)
            print(f"Wrote {path} and its codebook.csv")
            return
        for path in found.export(out):
            print(f"Wrote {path}")


@click.command()
@click.argument("store", metavar="RUN")
@click.argument("target", metavar="TARGET")
def copy(store: str, target: str) -> None:
    """Copies the file of a recorded run, also while it is being recorded.

    RUN is the path of a SQLite file, TARGET a new path. The copy is complete: the newest
    steps are often not in the file itself, but in files beside it.
    """
    from mesa_memory.stores.copying import copy_file

    print(f"Wrote {copy_file(store, target)}")


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN [RUN2 ...]")
@options.served
def dashboard(runs: tuple[str, ...], host: str, port: int, open_page: bool) -> None:
    """Shows recorded runs in the browser, also while they are being written.

    RUN is the path or address of a store; #3 after it is its third run.
    """
    from mesa_memory.stores.open import split_run
    from mesa_memory.viz import explorer
    from mesa_memory.viz.serving import server

    feeds = explorer.open_feeds([split_run(run) for run in runs])
    try:
        place = server.listen(host, port)
        server.serve(lambda: explorer.Runs(feeds), place, open_page)
    finally:
        for feed in feeds:
            feed.close()


@click.command()
@click.argument("run", metavar="RUN")
@option("--model", "The run's model.", required=True, metavar="MODULE:CLASS")
@option(
    "--step",
    "Erase after this step; with --agent, the step of the decision.",
    type=float,
    required=True,
)
@option("--agent", "Unique id of one agent, whose decision is asked about.")
@option(
    "--decision", "Which of its decisions in the step, if several; from 1.", type=COUNT
)
@option("--steps", "Step at which a copy of the run ends.", type=COUNT)
@option(
    "--outcome", "Model to number; not needed with --agent.", metavar="MODULE:FUNCTION"
)
@option("--max-runs", "End after so many copies.", type=click.IntRange(min=3))
@flag("--trust", "Take addresses, models and code from the file, which is your own.")
@option(
    "--screen",
    "Runs of each group, if answers differ from run to run.",
    12,
    click.IntRange(min=2),
)
@printed
def attribute(
    run: str, model: str, agent: str | None, outcome: str | None, output: Output,
    **given: Any,
) -> None:  # fmt: skip
    """Erases memories of a recorded run in turn, to see on which its outcome depends.

    RUN is the path or address of a store; #3 after it is its third run. The run stays as
    it is. Copies of it go on from the step; what they ask of language models is paid, and
    the price is said before. Ctrl-C ends it and prints its results so far.
    """
    if agent is None and None in (outcome, given["steps"]):
        raise click.UsageError("give --agent, or --outcome and --steps")
    if given["decision"] is not None and (agent is None or outcome is not None):
        raise click.UsageError("--decision needs --agent, and no --outcome")
    say_loading()
    from mesa_memory.experiments.attribution import attribute as find
    from mesa_memory.runs import open_run

    with open_run(run) as recorded:
        location, number = recorded.location, recorded.id
        known = {str(text): own for text, own in recorded.unique_ids.items()}
    found = find(
        imported(model), location, run=number, **given,
        outcome=None if outcome is None else imported(outcome),
        agent=None if agent is None else known.get(agent, agent),
    )  # fmt: skip
    output.report(str(found))
    table = found.table()
    names = ["what", "who", "effect", "low", "high", "p_holm", "stays"]
    names += [name for name in ("alone", "alone_p_holm") if name in table]
    output.table(
        "effects",
        "Effect on the outcome of erasing each group, and of keeping it alone",
        names,
        rows_of(table),
    )


_SHARES = ("kept", "changed", "omitted")
_DRIFT = ("kind", "generation", "statements", *_SHARES, "low", "high", "added")


@click.command()
@click.argument("run", metavar="RUN")
@option("--agent", "Of this agent alone.", metavar="ID|NAME")
@printed
def drift(run: str, agent: str | None, output: Output) -> None:
    """What did summaries keep, change, omit and add, by generation of rewriting?

    Generation 1 is made from events alone. The bounds are a 95% interval of the share
    that was kept. RUN is the path or address of a store; #3 after it is its third run.
    """
    say_loading()
    from mesa_memory.statistics.difference import share

    with opened(run) as found:
        fates = found.drift(agent, as_records=True)
    counts: dict[tuple[str, int], Counter[str]] = {}
    for row in fates:
        key = row["kind"], row["generation"]
        counts.setdefault(key, Counter())[row["fate"]] += 1
    rows = []
    for (kind, generation), own in sorted(counts.items()):
        number = sum(own[fate] for fate in _SHARES)
        told = {fate: round(own[fate] / number, 3) for fate in _SHARES if number}
        bounds = share(own["kept"], number)[1:] if number else (None, None)
        low, high = (each if each is None else round(each, 3) for each in bounds)
        place = {"kind": kind, "generation": generation, "statements": number}
        rows.append(place | told | {"low": low, "high": high, "added": own["added"]})
    title = "Share of statements kept, changed and omitted, and sentences added"
    output.table("drift", title, _DRIFT, rows)


@click.command()
@click.argument("run", metavar="RUN")
@option(
    "--intervals", "Retention intervals, with commas.", "1,5,10,20", metavar="STEPS"
)
@option("--every", "Look at each step that can be divided by it.", 5, COUNT)
@printed
def retention(run: str, intervals: str, every: int, output: Output) -> None:
    """Which of the statements that agents heard are still shown to them?

    Old statements are those an agent heard; new ones, the lures, only others heard.
    RUN is the path or address of a store; #3 after it is its third run.
    """
    steps = tuple(map(int, intervals.split(",")))
    say_loading()
    from mesa_memory.experiments import retention as measured

    with opened(run) as found:
        curve = measured(found, intervals=steps, every=every).curve.round(3)
    title = "Share of statements shown, by memory and retention interval in steps"
    output.table("retention", title, list(curve.columns), rows_of(curve))


def imported(name: str) -> Callable[..., Any]:
    """The class or function at ``module:name``.

    Raises:
        ValueError: if it cannot be loaded, or is neither of them.
    """
    options.importable(Path())
    try:
        found = pkgutil.resolve_name(name)
    except (ImportError, AttributeError, ValueError) as error:
        module = sys.modules.get(name.partition(":")[0])
        place = f" ({file})" if (file := getattr(module, "__file__", "")) else ""
        raise ValueError(
            f"{name!r} cannot be loaded: {error}{place}. Give module:name, of a file "
            "whose name no other module has"
        ) from error
    if not callable(found):
        raise ValueError(
            f"{name!r} is {found!r}, not a class or function: give module:name, such as "
            "town:outcome"
        )
    return found
