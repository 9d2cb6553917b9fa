"""Shards: a study in files that jobs of a cluster write apart from each other."""

import multiprocessing
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from mesa_memory import open_run
from mesa_memory.cli import main
from mesa_memory.errors import StoreError, StudyChanged
from mesa_memory.experiments import Study
from mesa_memory.experiments.studies.design import Design
from mesa_memory.experiments.studies.shards import shard_files
from mesa_memory.stores import open_store, schema
from tests.support.sqlite_faults import DOTFILE, broken, environment
from tests.support.studied import Forgetful, PaidStreet, Street, maker, remembered
from tests.support.study_results import csv, run
from tests.support.turns import in_turn
from tests.support.waiting import until

SHARDS, JOBS, RUNS = 3, 8, 80


def street(folder, name="study.sqlite", seeds=4, **given):
    factors = {"memory": ["short_term", "stlt"]}
    return Study(
        Street, factors, seeds=range(seeds), steps=3, store=Path(folder) / name,
        outcomes={"events": remembered}, **given,
    )  # fmt: skip


def test_gathered_shards_are_the_study_that_one_process_makes(tmp_path):
    whole = street(tmp_path, "whole.sqlite")
    run(whole)
    study = street(tmp_path)
    for number in range(SHARDS, 0, -1):
        status = run(study.shard(number, SHARDS))
        assert status.counts["finished"] == len(range(number, 9, SHARDS))
    assert len(shard_files(study.location)) == SHARDS
    assert study.gather() == 8 and study.gather() == 0
    assert csv(study) == csv(whole) and study.status().finished
    names = list(study.results().runs["run"])
    for name in names:
        with (
            open_run(study.location, name) as mine,
            open_run(whole.location, name) as its,
        ):
            assert mine.differences(its) is None
    assert study.methods().split("\n\n")[:3] == whole.methods().split("\n\n")[:3]


def test_a_shard_may_run_again_and_what_is_missing_is_made_by_the_study(tmp_path):
    study = street(tmp_path)
    run(study.shard(1, SHARDS))
    assert study.gather() == 3
    run(study.shard(1, SHARDS))
    assert study.gather() == 0
    assert run(study).finished  # the other five, in this process
    run(study.shard(2, SHARDS))
    assert study.gather() == 0


def test_a_failed_run_is_gathered_and_replaced_when_it_is_made_again(
    tmp_path, monkeypatch
):
    study = street(tmp_path)
    monkeypatch.setattr(Street, "step", lambda self: 1 / 0)
    run(study.shard(1, SHARDS))
    assert study.gather() == 3 and len(study.status().failed) == 3
    monkeypatch.undo()
    run(study.shard(1, SHARDS))
    assert study.gather() == 3 and not study.status().failed
    assert run(study).counts["finished"] == 8


def test_a_shard_of_other_code_is_not_gathered(tmp_path):
    study = street(tmp_path)
    run(study.shard(1, SHARDS))
    with pytest.raises(
        StudyChanged, match=r"1-of-3\.sqlite was not made with what is here"
    ):
        street(tmp_path, record=False).gather()


def above(limit):
    def count(model):
        return remembered(model) > limit

    return count


#: two outcomes of the same file, under one name
OTHERS = {
    "functions": (remembered, maker),
    "what a function has bound": (above(2), above(3)),
    "defaults": (lambda model, limit=2: limit, lambda model, limit=3: limit),
    "lambdas": (
        lambda model: 2,  # of this line
        lambda model: 3,
    ),
    "a function and its attribute": ("steps", remembered),
}


@in_turn(name=OTHERS, place=["outcomes", "measures"])
def test_a_shard_with_another_function_under_the_same_name_is_not_gathered(
    tmp_path, name, place
):
    mine, other = (
        Study(
            Street, {"n": [1, 2]}, seeds=[1], steps=1, store=tmp_path / "study.sqlite",
            **{place: {"x": each}},
        )
        for each in OTHERS[name]
    )  # fmt: skip
    assert run(other.shard(1, 2)).counts["finished"] == 1
    told = (
        rf"1-of-2\.sqlite was not made .* configuration: {place[:-1]} 'x' was .*, is "
    )
    with pytest.raises(StudyChanged, match=told):
        mine.gather()
    assert mine.status().counts["waiting"] == 2 and other.gather() == 1
    with pytest.raises(StudyChanged, match=f"{place[:-1]} 'x' was"):
        run(mine)


@pytest.mark.parametrize("levels", [
    [Forgetful, "stlt"], [partial(Forgetful), Forgetful], [3, 4],
])  # fmt: skip
def test_a_shard_whose_level_is_another_thing_of_that_name_is_not_gathered(
    tmp_path, levels
):
    factor = "n" if levels == [3, 4] else "memory"
    mine, other = (
        Study(
            Bare, {factor: {"one": level, "two": levels[0]}}, seeds=[1], steps=1,
            store=tmp_path / "study.sqlite",
        )
        for level in levels
    )  # fmt: skip
    run(other.shard(1, 2))
    with pytest.raises(StudyChanged, match=f"levels: {factor}=one was .*, is"):
        mine.gather()
    other.design = Design.of({factor: {"one": levels[1], "new": levels[0]}}, [1])
    other.take(other.design, None)
    assert other.gather() == 1, "a new level changes none of the others"


class Bare(Street):
    """Does not know that memories can be chosen."""

    def __init__(self, n=2, rng=None):
        super().__init__(n, rng=rng)


def test_a_shard_of_other_steps_runs_again_before_it_is_gathered(tmp_path):
    short, long = street(tmp_path), street(tmp_path)
    long.steps = 5
    for study in (short, long):
        assert run(study.shard(1, 2)).counts["finished"] == 4
    with pytest.raises(StudyChanged, match="steps was 5, is 3"):
        short.gather()
    run(long.shard(2, 2))
    assert long.gather() == 8 and long.status().finished
    assert set(long.results().runs["steps"]) == {5}
    longer = street(tmp_path)
    longer.steps = 6
    with pytest.raises(StudyChanged, match="steps was 5, is 6"):
        longer.gather()
    for number in (1, 2):
        run(longer.shard(number, 2))
    assert longer.gather() == 8, "finished runs that have become longer"
    assert set(longer.results().runs["steps"]) == {6}


#: a job is killed before it has written its tables
KILLED = """
import os, sys
from mesa_memory.stores import schema
from mesa_memory.stores.open import open_store
made = schema.metadata.create_all
def create(on, **given):
    made(on, **given)
    on.exec_driver_sql("PRAGMA cache_size=2")
    on.exec_driver_sql("CREATE TABLE large (a)")
    for _ in range(500):
        on.exec_driver_sql("INSERT INTO large VALUES (randomblob(1000))")
    os._exit(9)
schema.metadata.create_all = create
open_store(sys.argv[1], journal="rollback")
"""


@pytest.mark.parametrize("how", ["empty", "half written"])
def test_a_shard_whose_job_was_killed_at_its_beginning_stops_no_other(tmp_path, how):
    study = street(tmp_path)
    run(study.shard(2, 2))
    file = tmp_path / "study.1-of-2.sqlite"
    if how == "empty":
        file.touch()
    else:
        subprocess.run([sys.executable, "-c", KILLED, file], check=False)
        assert file.stat().st_size > 100_000
    assert study.gather() == 4
    assert run(study.shard(1, 2)).counts["finished"] == 4 == study.gather()
    file.write_bytes(b"no store" * 100)
    with pytest.raises(StoreError, match="1-of-2"):
        study.gather()


def test_shards_that_do_not_exist_are_told(tmp_path):
    study = street(tmp_path)
    with pytest.raises(
        ValueError, match="shard 4 of 3 does not exist: number is 1 to 3"
    ):
        study.shard(4, 3)
    with pytest.raises(ValueError, match="number must be"):
        study.shard(0, 3)
    server = Study(Street, seeds=[1], steps=1, store="postgresql://user@host/base")
    with pytest.raises(ValueError, match="in PostgreSQL needs no shards"):
        server.shard(1, 2)


FILE = """
from tests.experiments.test_study_shards import street
study = street({folder!r}, seeds={seeds})
"""


def written(folder, name, seeds):
    file = Path(folder) / f"{name}.py"
    file.write_text(FILE.format(folder=str(folder), seeds=seeds))
    return str(file)


def test_the_command_line_runs_a_shard_and_gathers(tmp_path):
    file = written(tmp_path, "sharded_street", 2)
    for number in (1, 2):
        done = CliRunner().invoke(
            main, ["study", "run", file, "--shard", f"{number}/2"]
        )
        assert done.exit_code == 0, done.output
    done = CliRunner().invoke(main, ["study", "gather", file])
    assert "4 runs were taken over into" in done.output
    done = CliRunner().invoke(main, ["study", "run", file, "--shard", "two"])
    assert done.exit_code == 2 and "--shard takes K/N, such as 3/40" in done.output


def told(model):
    """How much all people remember at the end, in characters."""
    return sum(len(agent.memory.get_prompt_ready()) for agent in model.agents)


def paid(folder, base, name="study.sqlite", seeds=RUNS // 2):
    """A study whose requests all differ within an arm; half of its runs have one person."""
    return Study(
        PaidStreet, {"base": base, "n": [2, 1]}, seeds=range(seeds), steps=2,
        store=Path(folder) / name, outcomes={"told": told},
    )  # fmt: skip


def job(folder, base, number):
    """A job of a cluster."""
    run(paid(folder, base).shard(number, JOBS))


def steps_written(file):
    with closing(open_store(file, read_only=True)) as store, store.reading() as on:
        return on.scalar(sa.select(sa.func.count()).select_from(schema.steps))


@pytest.mark.slow
def test_eighty_paid_runs_in_eight_processes_of_which_two_are_killed(
    tmp_path, server, monkeypatch
):
    # The third run of shards 2 and 5, of two people each, is kept waiting on its second
    # day, with five days written.
    kept = {2: 17, 5: 20}
    server.holds = lambda received: (
        "day 2" in received.prompt
        and any(f"of street {seed}" in received.prompt for seed in kept.values())
    )
    monkeypatch.setenv(
        "PYTHONPATH", environment(DOTFILE, tmp_path / "start")["PYTHONPATH"]
    )
    cluster = multiprocessing.get_context("forkserver")
    cluster.set_forkserver_preload([__name__])  # else each job would load all anew

    def begin(number):
        process = cluster.Process(target=job, args=(tmp_path, server.base, number))
        process.start()
        return process

    jobs = {number: begin(number) for number in range(1, JOBS + 1)}
    with broken(DOTFILE):
        until(lambda: sum(map(server.holds, server.log)) == 2 * len(kept))
        for number in kept:
            while steps_written(tmp_path / f"study.{number}-of-{JOBS}.sqlite") < 5:
                time.sleep(0.2)  # a reader locks the file
        unanswered = Counter(r.prompt for r in server.log if server.holds(r))
        for number in kept:
            jobs[number].kill()
            jobs[number].join()
            assert jobs[number].exitcode == -signal.SIGKILL
            jobs[number] = begin(number)
        server.holds = lambda received: False
        for each in jobs.values():
            each.join()
            assert each.exitcode == 0
        study = paid(tmp_path, server.base)
        assert study.gather() == RUNS and study.status().counts["finished"] == RUNS
    asked = Counter(received.prompt for received in server.log)
    server.clear()
    whole = paid(tmp_path, server.base, "whole.sqlite")
    run(whole)
    assert csv(study) == csv(whole) and len(study.results().runs) == RUNS
    assert asked - Counter(received.prompt for received in server.log) == unanswered
