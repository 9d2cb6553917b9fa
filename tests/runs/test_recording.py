"""A recorded run: what is written, resumed, forked and replayed."""

import re
import socket
import sqlite3

import pytest

from mesa_memory import (
    ReplayMismatch,
    Services,
    close,
    configure,
    fork,
    open_run,
    resume,
)
from mesa_memory.interventions import implant
from tests.support.playing import lived, play
from tests.support.recorded_town import RecordedTown
from tests.support.tables import assert_equal, tables

STEPS = 12


def written(file, steps=STEPS, town=None, **given):
    """A town's life, written to the file."""
    return play(town or RecordedTown(str(file), **given), steps)


def state(file):
    """The state of the newest run."""
    with sqlite3.connect(file) as on:
        return on.execute("SELECT state FROM runs ORDER BY id DESC").fetchone()[0]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that nothing interrupts: its file, its model, its rows."""
    file = tmp_path_factory.mktemp("whole") / "run.sqlite"
    town = written(file)
    return file, town, tables(file)


def test_everything_of_a_run_is_written(whole):
    file, town, rows = whole
    kinds = {row["kind"] for row in rows["records"]}
    assert kinds >= {"message", "observation", "summary", "reflection", "impression"}
    assert [row["step"] for row in rows["steps"]] == list(range(1, STEPS + 1))
    purposes = {row["purpose"] for row in rows["calls"]}
    assert purposes == {"grade", "consolidate", "impression", "questions", "reflect"}
    assert {row["purpose"] for row in rows["recalls"]} >= {"prompt", "reflect"}
    assert len(rows["prompts"]) == STEPS * town.n
    assert state(file) == "finished"


@pytest.mark.parametrize("execution", ["blocking", "deferred"])
def test_every_execution_writes_the_same(whole, execution, tmp_path):
    written(tmp_path / "run.sqlite", execution=execution)
    assert_equal(whole[2], tables(tmp_path / "run.sqlite"))


def test_a_run_that_is_not_recorded_is_the_same(whole, tmp_path):
    town = RecordedTown(str(tmp_path / "none"), record=None)
    lived(town, STEPS)
    assert town.diary == whole[1].diary
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("at", [1, 5, 11])
def test_a_resumed_run_ends_like_one_that_was_never_interrupted(whole, at, tmp_path):
    file = tmp_path / "run.sqlite"
    written(file, at)
    town = resume(RecordedTown, file)
    assert (town.steps, town.time) == (at, at)
    written(file, STEPS - at, town)
    assert_equal(whole[2], tables(file))
    assert town.diary == whole[1].diary


def test_a_fork_is_a_run_of_its_own(whole, tmp_path):
    file = tmp_path / "run.sqlite"
    written(file)
    before = tables(file)
    town = fork(RecordedTown, file, step=6, name="what if")  # without a checkpoint
    written(file, STEPS - 6, town)
    assert tables(file, 1) == before
    assert_equal(before, tables(file, 2))
    other = fork(RecordedTown, file, step=8, run=1, edit=rumour)
    written(file, 2, other)
    assert tables(file, 1) == before
    changed = [r["text"] for r in tables(file, 3)["records"] if "burns" in r["text"]]
    assert changed, "the edit left no trace in the fork"
    with open_run(file, run=3) as forked:
        assert (forked.parent, forked.parent_step) == (1, 8)


def rumour(town):
    """Lets the first citizen remember a fire."""
    implant(town.citizens[0], "message", {"message": "The mill burns!", "sender": 9})


def test_a_block_ends_its_run_and_leaves_it_open_after_a_fault(tmp_path):
    file = tmp_path / "run.sqlite"
    town = RecordedTown(True)
    with configure(town, record=file):
        town.step()
    assert state(file) == "finished"
    with pytest.raises(ZeroDivisionError), configure(town, record=file):
        town.step()
        raise ZeroDivisionError
    assert Services.of(town).recorder.active
    close(town)


def test_what_happens_in_a_step_that_fails_is_not_written(tmp_path):
    file = tmp_path / "run.sqlite"
    town = RecordedTown(str(file))
    town.step()
    town.citizens[3].step = lambda: 1 / 0
    with pytest.raises(ZeroDivisionError):
        town.step()
    Services.of(town).recorder.close()
    assert {row["step"] for row in tables(file)["records"]} == {1}
    assert state(file) == "failed"


def test_a_replayed_run_is_the_same_without_a_model_and_without_a_network(
    whole, tmp_path, monkeypatch
):
    def refuse(*_args, **_kwargs):
        raise AssertionError("a replay needs no network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    file = tmp_path / "again.sqlite"
    town = written(file, llm=None, replay=whole[0])
    same = [tables(f, ignore=("replayed", "cost")) for f in (whole[0], file)]
    assert_equal(*same)
    assert town.diary == whole[1].diary
    assert all(row["replayed"] for row in tables(file)["calls"])


def test_a_changed_prompt_is_found_at_its_first_use(whole, tmp_path):
    common = tmp_path / "prompts" / "common.md"
    common.parent.mkdir()
    common.write_text("## system\n\n{{ who }} Lines are mere records. {{ task }}\n")
    with pytest.raises(ReplayMismatch) as raised:
        given = {"llm": None, "replay": whole[0], "prompts": common.parent}
        written(tmp_path / "again.sqlite", **given)
    assert re.search(r"^\+.*mere records", str(raised.value), re.MULTILINE)
    assert raised.value.step == 1


def test_fast_steps_share_a_checkpoint_and_the_last_one_has_its_own(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("mesa_memory.runs.recording.recorder.CHECKPOINT_INTERVAL_S", 60)
    file = tmp_path / "run.sqlite"
    town = RecordedTown(str(file), record=str(file))
    lived(town, 5)
    recorder = Services.of(town).recorder
    recorder.sync()
    with sqlite3.connect(file) as on:
        kept = on.execute("SELECT DISTINCT step FROM checkpoints ORDER BY step")
        assert [step for (step,) in kept] == [1, 5]
    town.step()
    implant(town.citizens[0], "message", {"message": "The mill burns!", "sender": 9})
    recorder.close()
    assert resume(RecordedTown, file).steps == 6
