"""The ranks of an MPI program make a study's runs, and what they write is the same."""

import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import pytest

from mesa_memory import open_run
from tests.experiments.test_study_forks import paid
from tests.experiments.test_study_killed import lives, writers
from tests.support.missing import missing
from tests.support.study_results import csv, run
from tests.support.tables import assert_equal, tables
from tests.support.waiting import until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
#: Open MPI refuses root, and more processes than processors; MPICH does not mind
ALLOWED = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
#: seconds after which a program hangs
HUNG_S = 400


def mpiexec():
    """The command, that of this environment first; skips the test where none is."""
    if find_spec("mpi4py") is None:
        missing("mpi4py is not installed")
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return shutil.which("mpiexec", path=beside) or missing("no MPI has a mpiexec here")


def play(script, *arguments, ranks=3):
    """A program that has ended, with what it printed; rank 0 has no tasks."""
    program = [sys.executable, "-m", "mpi4py.futures", script, *arguments]
    return subprocess.run(
        [mpiexec(), "-n", str(ranks), *map(str, program)],
        env={**os.environ, **ALLOWED, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=HUNG_S,
    )


# The model and a measure stand in the program itself, as they do in small studies.
PROGRAM = """
import os
import sys

from mpi4py.futures import MPIPoolExecutor

from mesa_memory.experiments import Study
from tests.experiments.test_study_forks import CHANGES
from tests.support.studied import PaidStreet, read


class OwnStreet(PaidStreet):
    pass


def maker(model):
    return os.getpid()


if __name__ == "__main__":
    store, base = sys.argv[1:3]
    outcomes = {"read": read, "maker": maker}
    study = Study(
        OwnStreet, {"base": base, "change": CHANGES}, seeds=range(2), steps=6,
        outcomes=outcomes, store=store,
    )
    with MPIPoolExecutor() as executor:
        study.run(executor, progress=False)
"""


@pytest.fixture
def program(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    return script


def own(store, server):
    """The program's study, for its tables; or to be made by this process."""
    return paid(store, server, name="OwnStreet")


def asked(server):
    return sorted(received.prompt for received in server.log)


def test_mpi_makes_the_arms_that_one_process_makes_and_no_beginning_twice(
    file, program, server, tmp_path
):
    ended = play(program, file, server.base)
    assert ended.returncode == 0, ended.stderr
    found, by_mpi = own(file, server), asked(server)
    server.clear()
    serial = own(tmp_path / "serial.sqlite", server)
    assert run(serial).finished
    assert csv(found, ["maker"]) == csv(serial)
    assert by_mpi == asked(server)
    assert found.results().runs["maker"].nunique() == 2, "rank 0 makes none"
    for mine, alone in zip(found.status().cases, serial.status().cases):
        with open_run(file, mine.run) as recorded:
            assert recorded.model == "__main__.OwnStreet"
        assert_equal(tables(file, mine.run), tables(serial.location, alone.run))


def kill_one(store, server):
    """Kills a rank while the provider holds requests of both agents of both ranks; gives
    the numbers of requests and ranks."""
    until(lambda: server.in_flight == 4)
    pids = writers(store)
    os.kill(min(pids), signal.SIGKILL)
    until(lambda: not any(map(lives, pids)))
    under_way = sum(map(server.holds, server.log))
    server.holds = lambda received: False
    return under_way, len(pids)


def test_a_rank_that_is_killed_ends_all_and_only_requests_in_flight_are_repeated(
    file, program, server, tmp_path
):
    server.holds = lambda received: "day 3 at" in received.prompt
    with ThreadPoolExecutor(1) as thread:
        killing = thread.submit(kill_one, str(file), server)
        assert play(program, file, server.base).returncode != 0
        assert killing.result() == (4, 2)
    found = own(file, server)
    begun = [case.run for case in found.status().cases if case.run is not None]
    assert len(begun) == 2
    for number in begun:
        with open_run(file, number) as recorded:
            assert list(recorded.steps) == [1, 2], "all finished steps are kept"
    ended = play(program, file, server.base)
    assert ended.returncode == 0, ended.stderr
    by_mpi = asked(server)
    server.clear()
    serial = own(tmp_path / "serial.sqlite", server)
    assert run(serial).finished
    assert csv(found, ["maker"]) == csv(serial)
    assert set(by_mpi) == set(asked(server))
    assert len(by_mpi) - len(asked(server)) <= 4
