"""Shards: a study in files that jobs of a cluster write apart from each other."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from mesa_memory import open_run
from mesa_memory.cli import main
from mesa_memory.errors import StudyChanged
from mesa_memory.experiments import Study
from mesa_memory.experiments.studies.shards import shard_files
from tests.support.studied import Street, remembered
from tests.support.study_results import csv, run

SHARDS = 3


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


@pytest.mark.slow
def test_two_hundred_runs_in_eight_processes_of_which_two_are_killed(tmp_path):
    file = written(tmp_path, "many_streets", 100)
    command = [sys.executable, "-m", "mesa_memory.cli", "study", "run", file, "--shard"]

    def begin(number):
        return subprocess.Popen(
            [*command, f"{number}/8"], cwd=Path(__file__).parents[2],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    jobs = {number: begin(number) for number in range(1, 9)}
    killed = 0
    for number in (2, 5):
        place = tmp_path / f"study.{number}-of-8.sqlite"
        while not place.exists() and jobs[number].poll() is None:
            time.sleep(0.05)
        time.sleep(1)
        if jobs[number].poll() is None:
            os.kill(jobs[number].pid, signal.SIGKILL)
            killed += 1
        jobs[number].wait()
        jobs[number] = begin(number)
    assert killed == 2
    assert [job.wait() for job in jobs.values()] == [0] * 8
    study, whole = (
        street(tmp_path, seeds=100),
        street(tmp_path, "whole.sqlite", seeds=100),
    )
    assert study.gather() == 200
    run(whole)
    assert csv(study) == csv(whole)
