"""A run file of somebody else, in which a field is not what belongs there."""

import itertools
import linecache
import shutil
import sqlite3
import traceback
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import mesa_memory
from mesa_memory import open_run
from mesa_memory.cli import main
from mesa_memory.errors import MesaMemoryError, StoreCorrupt
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


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("crafted") / "run.sqlite")
    recorded(path)
    return path


@pytest.fixture
def spoiled(whole, tmp_path):
    """Makes a copy of the file with junk in a field."""

    def make(table, column, junk):
        path = str(tmp_path / f"{table}.{column}.{junk}.sqlite")
        shutil.copy(whole, path)
        return path if spoil(path, table, column, JUNK[junk]) else None

    return make


def complaint(reader, path):
    """What it answers, if that is neither data nor a plain error; else None."""
    try:
        READERS[reader](path)
    except Exception as error:
        return None if plain(error) else where(error)


def test_the_file_itself_is_read_by_all(whole):
    for reader in READERS.values():
        reader(whole)


#: (reader, junk) -> fields; each ended in an error of Python's own
CASES = {
    ("questions", "infinite"): ["steps.step", "records.step"],
    ("cost", "huge"): ["schema_version.version"],
    ("dashboard", "infinite"): ["steps.step", "records.valid_from", "records.graded_at", "calls.latency"],
    ("evidence", "infinite"): ["records.valid_to"],
    ("fork", "infinite"): ["records.step", "checkpoints.step"],
    ("fork", "dict"): ["records.subject", "answers.value"],
    ("resume", "text"): ["records.origin", "scenes.state"],
    ("resume", "infinite"): ["records.importance"],
    ("resume", "huge"): ["records.sources", "records.content", "checkpoints.state"],
    ("resume", "dict"): ["records.content", "checkpoints.state"],
    ("replay", "huge"): ["calls.attempts", "calls.tokens_in"],
    ("replay", "dict"): ["calls.raw"],
}  # fmt: skip


def test_junk_in_a_field_ends_in_a_plain_error(spoiled):
    for (reader, junk), places in CASES.items():
        for place in places:
            path = spoiled(*place.split("."), junk)
            assert path is not None
            assert complaint(reader, path) is None, place


def test_each_column_may_hold_anything_and_what_reads_all_of_it_stays_plain(
    whole, spoiled
):
    kinds, said = itertools.cycle(JUNK), {}
    for table, column in fields(whole):
        if path := spoiled(table, column, next(kinds)):
            said[path] = complaint("check", path)
    assert len(said) > 60
    assert {path: told for path, told in said.items() if told} == {}


def test_sqlite_refuses_a_value_of_another_type_and_a_number_is_finite(spoiled):
    assert spoiled("steps", "step", "text") is None
    assert spoiled("records", "text", "bytes") is None
    path = spoiled("steps", "step", "infinite")
    said = f"^{path}: steps.step holds inf, not a finite.*restore a backup"
    with open_run(path) as run, pytest.raises(StoreCorrupt, match=said):
        _ = run.steps
    assert sqlite3.connect(path).execute("SELECT step FROM steps").fetchone()
