"""Workers that start late, do not start, or cannot be sent a part of the study."""

import functools
import importlib
import subprocess
import sys
import threading
from concurrent.futures import Future, ProcessPoolExecutor

import pytest
from pydantic import create_model

from mesa_memory.errors import NotPicklable, StudyChanged
from mesa_memory.experiments import Processes, Question, Questionnaire, Study
from tests.support.studied import Street
from tests.support.study_results import run

HELPER, OTHER = "VALUE = 1\n", "VALUE = 2\n"
MODEL = """
import mesa
from {name}_helper import VALUE

class Toy(mesa.Model):
    def __init__(self, x=0, rng=None):
        super().__init__(rng=rng)
        self.x = x

def value(model):
    return VALUE
"""


class Elsewhere:
    """An executor that does something before each job, as on another machine."""

    def __init__(self, before=lambda: None):
        self.before = before

    def submit(self, function, *given):
        self.before()
        future = Future()
        future.set_result(function(*given))
        return future


def toy(tmp_path, monkeypatch, name):
    (tmp_path / f"{name}_helper.py").write_text(HELPER)
    (tmp_path / f"{name}.py").write_text(MODEL.format(name=name))
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module(name)
    return Study(module.Toy, {"x": [1, 2, 3]}, steps=1, store=tmp_path / "s.sqlite",
                 outcomes={"value": module.value})  # fmt: skip


@pytest.mark.parametrize("accept", [False, True])
@pytest.mark.parametrize("change", ["{}_helper.py", "{}.py"])
def test_a_worker_with_other_code_ends_the_study_and_names_the_file(
    tmp_path, monkeypatch, change, accept
):
    name = f"toy_{change[2:5]}_{accept}".replace(".", "")
    study, file = toy(tmp_path, monkeypatch, name), tmp_path / change.format(name)
    text = file.read_text()
    executor = Elsewhere(lambda: file.write_text(text + "EDITED = 1\n"))
    changed = rf"{file.name} was changed"
    with pytest.raises(StudyChanged, match=changed) as stopped:
        run(study, executor, accept_drift=accept)
    assert len(stopped.value.differences) == 1
    assert study.status().counts["finished"] == 0


def test_a_worker_that_has_loaded_the_code_goes_on(tmp_path, monkeypatch):
    study, edited = toy(tmp_path, monkeypatch, "toy_early"), []

    def edit():
        if edited:
            (tmp_path / "toy_early_helper.py").write_text(OTHER)
        edited.append(1)

    assert run(study, Elsewhere(edit)).finished
    assert list(study.results().runs["value"]) == [1, 1, 1]
    with pytest.raises(StudyChanged, match=r"toy_early_helper\.py was changed"):
        run(study)


def test_another_executor_and_serial_have_the_same_fingerprint(tmp_path, monkeypatch):
    """Measures, memories by name and arguments count once, wherever they come from."""
    study = toy(tmp_path, monkeypatch, "toy_same")
    assert run(study, Elsewhere()).finished and run(study).finished


SCRIPT = """
import os, signal, sys
from pathlib import Path
import mesa
from mesa_memory.experiments import Study
from mesa_memory.experiments import Processes

HERE = Path(__file__).parent
{at_import}

class Toy(mesa.Model):
    def __init__(self, x=0, rng=None):
        super().__init__(rng=rng)
        self.x = x
    def step(self):
        {in_step}

if __name__ == "__main__":
    study = Study(Toy, {{"x": [1, 2]}}, steps=1, store=HERE / "s.sqlite", record=False)
    print(study.run(Processes({workers}), progress=False).counts["finished"])
"""
#: the n-th start of a worker, counted by files
STARTED = """
if __name__ != "__main__":
    number = len(list(HERE.glob("start*"))) + 1
    (HERE / f"start{number}").touch()
    if number in KILLED:
        os.kill(os.getpid(), signal.SIGKILL)
"""
DIES_ONCE = (
    'mark = HERE / "died"; there = mark.exists(); mark.touch(); '
    "there or os.kill(os.getpid(), signal.SIGKILL)"
)
EDITS = (
    'me = Path(__file__); self.x == 2 and me.write_text(me.read_text() + "EDITED = 1\\n"); '
    'self.x == 2 and os.kill(os.getpid(), signal.SIGKILL)'
)  # fmt: skip
BREAKS = EDITS.replace("EDITED = 1", "1 +")


def script(folder, **given):
    given = {"at_import": "", "in_step": "pass", "workers": 1} | given
    (folder / "study.py").write_text(SCRIPT.format(**given))
    return [sys.executable, "study.py"]


def ended(folder, **given):
    command = script(folder, **given)
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.mark.slow
@pytest.mark.parametrize(("killed", "in_step"), [((1, 2), "pass"), ((2, 3), DIES_ONCE)])
def test_a_worker_killed_while_it_starts_is_started_again(tmp_path, killed, in_step):
    started = f"KILLED = {killed}\n{STARTED}"
    said = ended(tmp_path, at_import=started, in_step=in_step)
    assert said.stdout == "2\n", said.stderr
    starts = len(killed) + 1 + (in_step == DIES_ONCE)
    assert len(list(tmp_path.glob("start*"))) == starts


@pytest.mark.slow
def test_workers_killed_at_each_start_end_the_study_and_keep_what_is_finished(tmp_path):
    dies = "self.x == 2 and os.kill(os.getpid(), signal.SIGKILL)"
    started = f"KILLED = range(2, 99)\n{STARTED}"
    said = ended(tmp_path, at_import=started, in_step=dies)
    last = said.stderr.strip().splitlines()[-1]
    assert "WorkerLost: 3 workers in a row were killed" in last and "signal 9" in last
    study = Study(Street, steps=1, store=tmp_path / "s.sqlite", name="Toy")
    assert study.status().counts["finished"] == 1


@pytest.mark.slow
def test_workers_that_do_not_start_say_why(tmp_path):
    command, file = script(tmp_path), tmp_path / "study.py"
    file.write_text(file.read_text().replace('if __name__ == "__main__"', "if True"))
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stderr
    assert "put the call of study.run() under if __name__ == '__main__'" in said
    study = Study(Street, steps=1, store=tmp_path / "s.sqlite", name="Toy")
    assert study.status().counts["waiting"] == 2


@pytest.mark.slow
@pytest.mark.parametrize("in_step", [EDITS, BREAKS])
def test_code_that_changes_while_workers_run_ends_the_study(tmp_path, in_step):
    said = ended(tmp_path, in_step=in_step)
    last = said.stderr.strip().splitlines()[-1]
    assert "StudyChanged" in last and "study.py was changed" in last, said.stderr


LOCAL = create_model("Local", answer=(str, ...))
LOCK = threading.Lock()


def locked(lock, model):
    """With a lock nobody can send it, not even by value."""


#: what only pickle cannot send, and what cloudpickle cannot, either
BY_VALUE = {
    "the question 'q'": {
        "questionnaires": Questionnaire(Question("q", "?", "json", schema=LOCAL))
    },
    "the factor 'n'": {"factors": {"n": {"two": lambda: 2}}},
    "the outcome 'o'": {"outcomes": {"o": lambda model: 1}},
}
NEVER = {
    "the agents": {
        "questionnaires": Questionnaire(
            Question("q", "?"), agents=functools.partial(locked, LOCK)
        )
    },
    "the factor 'memory'": {
        "factors": {"memory": {"mine": functools.partial(locked, LOCK)}}
    },
    "the outcome 'o'": {"outcomes": {"o": functools.partial(locked, LOCK)}},
    "the model": {"model": functools.partial(Street, n=LOCK)},
}


def test_each_part_that_cannot_be_sent_is_named_before_a_worker_starts(file):
    def begin():
        raise AssertionError("a run was sent")

    local = [(Processes(1), {**NEVER, **BY_VALUE}), (ProcessPoolExecutor(1), BY_VALUE)]
    for executor, parts in [*local, (Elsewhere(begin), NEVER)]:
        for name, given in parts.items():
            given = {"model": Street, "factors": {"n": 1}, "name": name} | given
            study = Study(given.pop("model"), given.pop("factors"), steps=1, store=file,
                          **given)  # fmt: skip
            with pytest.raises(
                NotPicklable, match=r"study\.run\('serial'\)"
            ) as stopped:
                run(study, executor)
            assert name in stopped.value.name and name in str(stopped.value)


GUARDED = """
import mesa
from mesa_memory.experiments import Study

class Town(mesa.Model):
    def __init__(self, rng=None):
        super().__init__(rng=rng)

if __name__ == "__main__":
    def informed(model):
        return 1

    study = Study(Town, seeds=range(4), steps=1, store="s.sqlite", outcomes={"n": informed})
    study.run(1, progress=False)
"""


@pytest.mark.slow
def test_a_function_that_workers_do_not_have_is_told_by_the_first_one(tmp_path):
    (tmp_path / "study.py").write_text(GUARDED)
    command = [sys.executable, "study.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    last = done.stderr.strip().splitlines()[-1]
    assert "NotPicklable: a worker cannot load the run 'Town/seed=0'" in last
    assert "attribute 'informed'" in last and "if __name__ == '__main__'" in last
    assert done.stderr.count("Traceback") == 1, done.stderr


NOTEBOOK = """
import mesa
from mesa_memory.experiments import Study
from mesa_memory.experiments import Processes

class Town(mesa.Model):
    def __init__(self, n, rng=None):
        super().__init__(rng=rng)
        self.n, self.walked = n, 0

    def step(self):
        self.walked += self.n

def mean(model):
    return model.walked / model.n

study = Study(Town, {"n": [1, 2]}, seeds=[1], steps=3, store=FILE,
              outcomes={"walked": "walked", "mean": mean, "twice": lambda model: 2 * model.walked})
study.run(Processes(1), progress=False)
print(study.results().runs[["walked", "mean", "twice"]].values.tolist())
"""


@pytest.mark.slow
def test_what_a_notebook_defines_is_sent_to_the_workers(file):
    code = NOTEBOOK.replace("FILE", repr(str(file)))
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[[3.0, 3.0, 6.0], [6.0, 3.0, 12.0]]", done.stderr
