"""What stops a study costs nothing twice, and nothing that was finished."""

import asyncio
import importlib
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from mesa_memory import Budget, open_run
from mesa_memory.errors import BudgetExceeded, StoreUnavailable, StudyChanged
from mesa_memory.experiments import Processes, Study
from tests.support.studied import Greedy, PaidStreet, Street, Vandal
from tests.support.study_results import csv, run


class Unprintable(Exception):
    """Its text fails."""

    def __str__(self):
        raise RuntimeError("no text")


class Unloadable(Exception):
    """Cannot be sent to another process."""

    def __init__(self, one, two):
        super().__init__(one)
        self.lock = threading.Lock()
        self.add_note(two)


def canceled(model):
    async def wait():
        asyncio.current_task().cancel()
        await asyncio.sleep(0)

    asyncio.run(wait())


#: what a model does in its second step, and what the table says of it
ENDS = {
    "exit": (lambda model: sys.exit(3), "SystemExit: 3 ("),
    "cancel": (canceled, "CancelledError ("),
    "no text": (lambda model: (_ for _ in ()).throw(Unprintable), "Unprintable: <Unpr"),
    "unloadable": (lambda model: (_ for _ in ()).throw(Unloadable("a", "b")), "; b"),
}


class Ending(Street):
    """Ends in an unusual way, in its constructor or in a step.

    Args:
        how: name in ``ENDS``, or fine.
        when: step; 0 is its constructor.
    """

    def __init__(self, how="fine", when=2, rng=None):
        super().__init__(rng=rng)
        self.end, self.when = ENDS.get(how, (lambda model: None,))[0], when
        self._end()

    def step(self):
        super().step()
        self._end()

    def _end(self):
        if self.steps == self.when:
            self.end(self)


def ended(model):
    """Ends in an unusual way while the outcome is measured, at the first seed."""
    if model.seeded == 0:
        raise SystemExit(5)
    return 1


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("when", [0, 2])
def test_a_run_that_exits_or_is_cancelled_fails_alone(file, when, recorded):
    factors = {"how": [*ENDS, "fine"], "when": when}
    study = Study(Ending, factors, steps=3, store=file, record=recorded)
    for _ in range(2):
        assert run(study).counts["failed"] == len(ENDS)
        runs = study.results().runs.set_index("how")
        assert runs.loc["fine", "state"] == "finished"
        for how, (_, said) in ENDS.items():
            assert said in runs.loc[how, "error"]
            assert ".py, line" in runs.loc[how, "error"]


def test_neither_an_exit_in_a_worker_nor_in_an_outcome_ends_the_study(file):
    factors = {"how": ["exit", "unloadable", "no text", "fine"]}
    study = Study(Ending, factors, steps=3, store=file)
    assert run(study, 2).counts == study.status().counts
    assert study.status().counts["failed"] == 3 and study.status().finished is False
    assert "SystemExit: 3" in study.status().failed[0]["error"]
    given = {"steps": 1, "store": file, "name": "other"}
    study = Study(Street, seeds=range(3), outcomes={"end": ended}, **given)
    assert run(study).counts["finished"] == 2
    (failed,) = study.status().failed
    assert failed["error"].startswith("SystemExit: 5")


def paid(file, server, **given):
    given = {"steps": 3, "seeds": range(3), "store": file} | given
    factors = {"base": server.base} | given.pop("factors", {})
    return Study(PaidStreet, factors, **given)


def asked(server):
    return [received.prompt for received in server.log]


def test_a_budget_holds_over_all_runs_and_what_was_paid_is_not_paid_again(file, server):
    study = paid(file, server)
    with pytest.raises(
        BudgetExceeded, match=r"of its runs are not finished.*calls 9 of"
    ):
        run(study, budget=Budget(calls=8))
    assert len(asked(server)) == 8
    status = study.status()
    assert status.counts["finished"] == 1 and status.counts["stopped"] == 1
    with pytest.raises(BudgetExceeded):  # the budget is that of the whole study
        run(study, budget=Budget(calls=8))
    assert len(asked(server)) == 8
    assert run(study, budget=Budget(calls=18)).finished
    assert len(asked(server)) == len(set(asked(server))) == 18
    assert study.status().calls == 18
    whole = paid(file.with_name("whole.sqlite"), server)
    run(whole)
    assert csv(study) == csv(whole)


def test_a_budget_holds_over_runs_that_are_made_at_the_same_time(file, server):
    server.latency = 0.02
    study = paid(file, server, seeds=range(6))
    with ThreadPoolExecutor(4) as threads, pytest.raises(BudgetExceeded):
        run(study, threads, budget=Budget(calls=15))
    assert len(asked(server)) == 15
    with ThreadPoolExecutor(4) as threads:
        assert run(study, threads, budget=Budget(calls=36)).finished
    assert len(asked(server)) == len(set(asked(server))) == 36


def test_changed_code_stops_a_study_unless_it_is_accepted(file, tmp_path, monkeypatch):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "my_helper.py").write_text("SIZE = 2\n")
    (folder / "my_street.py").write_text(
        "from my_helper import SIZE\n"
        "from tests.support.studied import Street\n\n\n"
        "class Mine(Street):\n"
        "    def __init__(self, rng=None):\n"
        "        super().__init__(SIZE, rng=rng)\n"
    )
    monkeypatch.syspath_prepend(folder)
    mine = importlib.import_module("my_street").Mine
    run(Study(mine, steps=2, store=file))
    (folder / "my_helper.py").write_text("SIZE = 3\n")
    study = Study(mine, seeds=range(2), steps=2, store=file, measures={"n": "steps"})
    with pytest.raises(StudyChanged, match=r"my_helper\.py was changed") as stopped:
        run(study)
    assert stopped.value.differences == (
        "code: mine/my_helper.py was changed",
        "configuration: measure 'n' is new",
    )
    status = run(study, accept_drift=True)
    assert status.counts["finished"] == 2
    (noted,) = status.drift
    assert (
        noted["differences"] == list(stopped.value.differences) and noted["runs"] == 1
    )
    assert run(study).finished  # what was accepted once is not told again


def test_a_worker_without_memory_fails_its_run_and_says_what_to_do(file):
    status = run(Study(Greedy, steps=2, store=file))
    assert "is out of memory. Give each machine fewer" in status.failed[0]["error"]


def test_a_store_that_is_gone_stops_the_study(file):
    study = Study(Vandal, {"file": str(file)}, seeds=range(3), steps=50, store=file)
    with pytest.raises(StoreUnavailable, match="was deleted, moved or replaced"):
        run(study)


@pytest.mark.slow
def test_a_run_that_kills_its_worker_each_time_is_given_up(file, server):
    study = paid(file, server, seeds=[1], factors={"dies": [None, "always"]})
    status = run(study, Processes(2))
    assert status.counts["finished"] == 1 and status.counts["failed"] == 1
    assert "WorkerLost: 3 workers ended" in status.failed[0]["error"]
    assert "signal 9" in status.failed[0]["error"]


def _listen():
    """Ctrl-C is heard, also where the tests themselves run in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


SCRIPT = """
from mesa_memory.experiments import Study
from tests.support.studied import PaidStreet

if __name__ == "__main__":
    study = Study(PaidStreet, {{"base": {base!r}, "wait": 0.2}}, seeds=range(4), steps=4,
                  store={file!r})
    study.run({executor}, progress=False)
"""


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["2", "'serial'"])
def test_an_interrupt_keeps_what_is_finished_and_what_was_paid(file, server, executor):
    script = file.with_name("script.py")
    given = {"base": server.base, "file": str(file), "executor": executor}
    script.write_text(SCRIPT.format(**given))
    here = {**os.environ, "PYTHONPATH": os.getcwd()}
    with subprocess.Popen(
        [sys.executable, str(script)], env=here, preexec_fn=_listen, stderr=subprocess.PIPE,
        text=True,
    ) as child:  # fmt: skip
        while len(server.log) < 11:
            time.sleep(0.01)
        child.send_signal(signal.SIGINT)
        said = child.communicate(timeout=600)[1]
    assert child.returncode != 0 and said.count("Traceback") == 1, said
    assert said.strip().endswith("the study was interrupted; study.run() continues it")
    study = paid(file, server, seeds=range(4), steps=4, factors={"wait": 0.2})
    before = study.status()
    assert before.counts["running"] == 0 and before.counts["stopped"] > 0
    assert run(study).finished
    assert len(asked(server)) == len(set(asked(server))) == 32
    for name in study.results().runs["run"]:
        with open_run(file, name) as recorded:
            assert list(recorded.steps) == [1, 2, 3, 4]
