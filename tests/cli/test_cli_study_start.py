"""The first seconds of ``mesa-memory study run``: what is shown, and Ctrl-C."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
#: workers wait while they load it, until there is a file "go"
STUDY = """
import multiprocessing, os, time
from pathlib import Path

import mesa
from mesa_memory.experiments import Study

if multiprocessing.parent_process() is not None:
    Path(f"worker{os.getpid()}").touch()
    while not Path("go").exists():
        time.sleep(0.05)

class Town(mesa.Model):
    def __init__(self, rng=None):
        super().__init__(rng=rng)

    def step(self):
        Path("stepped").touch()
        time.sleep(0.1 * Path("slow").exists())

study = Study(Town, seeds=range(4), steps=100, store="town.sqlite", record=False)
"""
#: a moment of the start, by a file or a part of what is shown
MOMENTS = ("Loading Mesa", "starting 2 workers", "worker*", "stepped")


def _listen():
    """Ctrl-C is heard, also where the tests themselves run in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def command(tmp_path):
    command = Command(tmp_path)
    yield command
    if command.child.poll() is None:
        os.killpg(command.child.pid, signal.SIGKILL)


class Command:
    """``mesa-memory study run`` in a folder of its own, as a terminal starts it."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "study.py").write_text(STUDY)
        command = Path(sys.executable).with_name("mesa-memory")
        given = ["study", "run", "study.py", "--processes", "2"]
        with open(folder / "stderr", "w") as stderr:
            self.child = subprocess.Popen(
                [command, *given], cwd=folder, stdout=subprocess.DEVNULL, stderr=stderr,
                process_group=0, preexec_fn=_listen,
            )  # fmt: skip

    @property
    def shown(self):
        return (self.folder / "stderr").read_text().replace("\r", "\n")

    def wait_for(self, moment):
        while moment not in self.shown and not list(self.folder.glob(moment)):
            assert self.child.poll() is None, self.shown
            time.sleep(0.02)

    def interrupt(self):
        os.killpg(self.child.pid, signal.SIGINT)  # as a terminal does
        return self.child.wait(60)

    def living(self):
        pids = [int(file.name[6:]) for file in self.folder.glob("worker*")]
        return [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def test_workers_that_start_are_shown_before_they_are_there(tmp_path, command):
    command.wait_for("starting 2 workers:   0%")
    assert not command.living()
    (tmp_path / "go").touch()
    assert command.child.wait() == 0
    assert "2 of 2 workers: 100%" in command.shown
    assert "leaked" not in command.shown


@pytest.mark.parametrize("moment", MOMENTS)
def test_an_interrupt_at_the_start_is_one_line_and_leaves_no_worker(
    tmp_path, command, moment
):
    if moment == "stepped":
        (tmp_path / "slow").touch()
        (tmp_path / "go").touch()
    command.wait_for(moment)
    assert command.interrupt() == 130, command.shown
    bars = ("preparing", "starting", "0 of", "1 of", "2 of")
    lines = [line for line in command.shown.split("\n") if line.strip()]
    said = [line for line in lines if not line.startswith(bars)]
    assert said[0].startswith("Loading") and len(said) == 2, command.shown
    assert said[1].startswith("Error: interrupted; the finished steps"), said
    assert not command.living()
