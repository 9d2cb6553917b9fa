"""Any executor makes a study's runs, and what they write does not depend on it."""

import os
import pickle
import subprocess
import sys
from concurrent.futures import Executor, Future, ThreadPoolExecutor

import pytest

from mesa_memory.errors import NotPicklable
from mesa_memory.experiments import Processes, Study
from tests.support.studied import Street, remembered
from tests.support.study_results import csv


def street(store, **given):
    given = {"seeds": range(3), "steps": 3, "store": store} | given
    factors = {"memory": ["short_term", "stlt"]}
    return Study(Street, factors, outcomes={"events": remembered}, **given)


@pytest.fixture
def serial(tmp_path):
    study = street(tmp_path / "serial.sqlite")
    study.run("serial", progress=False)
    return csv(study)


class PicklingExecutor(Executor):
    """Has what mpi4py's ``MPIPoolExecutor`` has: ``submit``, and pickles between two
    processes, of which this is both."""

    def submit(self, call, /, *args, **kwargs):
        future = Future()
        told = pickle.dumps((call, args, kwargs))
        call, args, kwargs = pickle.loads(told)
        future.set_result(pickle.loads(pickle.dumps(call(*args, **kwargs))))
        return future


@pytest.mark.parametrize("make", [lambda: ThreadPoolExecutor(3), PicklingExecutor])
def test_any_executor_of_futures_writes_what_one_process_writes(file, serial, make):
    with make() as executor:
        assert street(file).run(executor, progress=False).finished
    assert csv(street(file)) == serial


class RefusingExecutor(Executor):
    """No worker of it can load a job; all say so at once."""

    def submit(self, call, /, run, packed):
        future = Future()
        future.set_exception(NotPicklable("cannot be loaded", name=run))
        return future


def test_of_several_failures_that_of_the_first_run_ends_the_study(file):
    study = street(file, seeds=range(20))
    with pytest.raises(NotPicklable) as stopped:
        study.run(RefusingExecutor(), progress=False)
    assert stopped.value.name == "Street/memory=short_term,seed=0"


def test_what_is_no_executor_is_refused(file):
    with pytest.raises(TypeError, match="executor must be None"):
        street(file).run(object())
    with pytest.raises(ValueError, match="workers must be >= 1"):
        street(file).run(Processes(0))
    assert not file.exists()


SCRIPT = """
import sys
from tests.experiments.test_study_executors import street

if __name__ == "__main__":
    store, name, count = sys.argv[1:]
    given = {"name": name, "seeds": range(int(count))}
    print(street(store, **given).run(2, progress=False).counts)
"""


@pytest.mark.slow
def test_two_studies_are_written_into_one_postgresql_at_once(
    tmp_path, postgres, serial
):
    address, script = postgres.database(), tmp_path / "script.py"
    env = {**os.environ, "PYTHONPATH": os.getcwd()}
    script.write_text(SCRIPT)
    given = [("one", "3"), ("two", "3"), ("one", "3")]  # the first by two programs
    programs = [
        subprocess.Popen([sys.executable, script, address, *each], env=env)
        for each in given
    ]
    assert [program.wait() for program in programs] == [0, 0, 0]
    for name in ("one", "two"):
        study = street(address, name=name)
        assert study.status().counts["finished"] == 6
        found = csv(study)
        assert found["runs"].replace(f"{name}/", "Street/") == serial["runs"]
        assert found | {"runs": ""} == serial | {"runs": ""}
