"""A recorded file in which one field is not what belongs there, and all that reads it."""

import linecache
import sqlite3
import traceback
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from click.testing import CliRunner

import mesa_memory
from mesa_memory import open_run
from mesa_memory.cli import main
from mesa_memory.errors import MesaMemoryError
from mesa_memory.stores import open_store
from tests.support.playing import play
from tests.support.recorded_town import RecordedTown
from tests.support.stored import check
from tests.support.tables import names

PACKAGE = str(Path(mesa_memory.__file__).parent)
AGENTS, STEPS = 6, 4
DEEP = "[" * 50_000 + "]" * 50_000
#: what a field may hold in a file of somebody else
JUNK: dict[str, Any] = {
    "null": None,
    "text": "junk",
    "empty": "",
    "number": -7,
    "huge": 2**62,
    "fraction": 1.5,
    "infinite": float("inf"),
    "bytes": b"\xff\xfe\x00junk",
    "list": '[1, null, {"a": []}]',
    "dict": '{"a": [1], "agent": {}, "id": 3}',
    "word": '"junk"',
    "nan": "NaN",
    "true": "true",
    "dicts": '[{}, {"id": "a", "rank": "x", "score": [], "role": 1}]',
    "deep": DEEP,
    "long": "9" * 5_000,
    "surrogate": '"\\ud800"',
}


def recorded(path: str) -> None:
    """A town with every kind of memory, in a file without a log."""
    play(RecordedTown(path, n=AGENTS), STEPS)
    with closing(sqlite3.connect(path)) as on:
        on.execute("PRAGMA journal_mode=DELETE")


def fields(path: str) -> list[tuple[str, str]]:
    """Every table that has rows, and each of its columns."""
    with sqlite3.connect(path) as on:
        tables = names(on)
        return [
            (table, row[1])
            for table in tables
            if on.execute(f"SELECT 1 FROM {table}").fetchone()
            for row in on.execute(f"PRAGMA table_info({table})")
        ]


def spoil(path: str, table: str, column: str, value: Any) -> bool:
    """Puts a value into a column of all rows, or of one if they must differ.

    Returns:
        False where SQLite itself refuses it.
    """
    on = sqlite3.connect(path, isolation_level=None)
    try:
        for rows in ("", f" WHERE rowid = (SELECT max(rowid) FROM {table})"):
            with suppress(sqlite3.IntegrityError):
                on.execute(f'UPDATE {table} SET "{column}" = ?{rows}', (value,))
                return True
        return False
    finally:
        on.close()


def plain(error: BaseException) -> bool:
    """True for a typed error, and for a ValueError that this package itself raises."""
    if isinstance(error, MesaMemoryError):
        return True
    last = traceback.extract_tb(error.__traceback__)[-1]
    line = linecache.getline(last.filename, last.lineno or 0)
    own = last.filename.startswith(PACKAGE) and "raise" in line
    return isinstance(error, ValueError) and own


def where(error: BaseException) -> str:
    """The class of an error and the last place of ours that it passed."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if f.filename.startswith(PACKAGE)]
    place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "?"
    return f"{type(error).__name__} {error!s:.80} ({place})"


def _ask(path: str) -> None:
    """All that one may ask of a run."""
    with open_run(path) as run:
        for part in ("name", "model", "parameters", "seed", "versions", "status"):
            getattr(run, part)
        _ = run.parent, run.parent_step, run.steps
        run.runs()
        run.cost(("purpose", "agent", "step", "model", "replayed", "finish"))
        run.calls()
        run.interventions()
        for row in run.agents(as_records=True)[:3]:
            agent = row["agent"]
            run.state(agent)
            run.history(agent=agent)
            run.recalls(agent)
            run.prompts(agent)
            run.prompt(agent)
            run.calls(agent)


def _explain(path: str) -> None:
    """The evidence of all that was concluded."""
    with open_run(path) as run:
        for agent in run.agents(as_records=True)[:3]:
            for row in run.history(agent=agent["agent"], as_records=True)[-4:]:
                run.provenance(row["id"])


def _look(path: str) -> None:
    """What the dashboard shows."""
    from mesa_memory.runs.past import past as past_of
    from mesa_memory.viz import explorer
    from mesa_memory.viz.data import agent as agents
    from mesa_memory.viz.data import recall, spread
    from mesa_memory.viz.data.activity import activity
    from mesa_memory.viz.data.presence import missing, steps
    from mesa_memory.viz.views import compare, cost, evidence, impressions

    (feed,) = explorer.open_feeds([(path, None)])
    try:
        source, run = feed.source, feed.source.run
        found = source.of(activity)
        for measure in ("events", "importance", "cost"):
            found.measure(measure)
        source.of(missing)
        source.of(spread.corpus)
        cost.spent(run).series("cost")
        cost.grouped(run, ("agent", "model"))
        impressions.opinions(run)
        spread.found(run, "fish")
        step = source.steps[-1] if source.steps else 0
        for agent in source.agent_ids[:3]:
            past = past_of(run, agent)
            agents.layer_views(past, step)
            rows = agents.changed(past, source.steps, step)
            for name in agents.columns(rows):
                [agents.cell(row, name) for row in rows]
            agents.shown(run, agent, step)
            for when in steps(run, "recall", agent)[-1:]:
                for row in recall.recalls(run, agent, when):
                    recall.ranked(recall.understood(row, past), (1.0, 1.0, 1.0))
            for row in evidence.conclusions(past, step)[:2]:
                evidence.nodes(evidence.evidence(run, row["id"]), past)
            compare.course(past, past, source.steps)
    finally:
        feed.close()


def _check(path: str) -> None:
    store = open_store(path, read_only=True)
    try:
        check(store)
    finally:
        store.close()


def _command(*given: str) -> Callable[[str], None]:
    def call(path: str) -> None:
        arguments = [word.replace("FILE", path) for word in given]
        result = CliRunner().invoke(main, arguments)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception

    return call


def _going_on(path: str) -> Any:
    """Models that begin from a file change it, so they have a copy."""
    copy = f"{path}.copy"
    Path(copy).write_bytes(Path(path).read_bytes())
    return copy


def _resume(path: str) -> None:
    play(mesa_memory.resume(RecordedTown, _going_on(path)), 1)


def _fork(path: str) -> None:
    play(mesa_memory.fork(RecordedTown, _going_on(path)), 1)


def _replay(path: str) -> None:
    RecordedTown("", n=AGENTS, replay=path, record=None).step()


READERS: dict[str, Callable[[str], None]] = {
    "check": _check,
    "questions": _ask,
    "evidence": _explain,
    "dashboard": _look,
    "inspect": _command("inspect", "FILE"),
    "inspect agent": _command("inspect", "FILE", "--agent", "1"),
    "cost": _command("cost", "FILE"),
    "diff": _command("diff", "FILE", "FILE"),
    "export": _command("export", "FILE", "--out", "FILE.csv"),
    "resume": _resume,
    "fork": _fork,
    "replay": _replay,
}
