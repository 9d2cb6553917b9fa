"""Every command ends in one line after Ctrl-C."""

import signal
import subprocess
import sys
import time

import click
import pytest

from mesa_memory import Services, open_run, resume
from mesa_memory.cli.console import one_line_errors
from mesa_memory.errors import StoreError
from mesa_memory.examples.rumor.model import RumorModel
from tests.support.waiting import HUNG


def test_an_interrupt_is_one_line_and_an_exit_code():
    with pytest.raises(click.ClickException) as ended, one_line_errors():
        raise KeyboardInterrupt
    assert ended.value.exit_code == 130
    assert ended.value.message.startswith("interrupted; the finished steps")


@pytest.mark.slow
def test_an_interrupted_run_is_kept_and_goes_on(tmp_path):
    file = tmp_path / "run.sqlite"
    town = ("--headless", "--record", file, "--steps", "5000", "--agents", "12")
    child = subprocess.Popen(
        [sys.executable, "-m", "mesa_memory.cli", "demo", *town],
        stderr=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + HUNG
    while not (file.exists() and steps_of(file)) and time.monotonic() < end:
        time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    said = child.communicate(timeout=HUNG)[1].splitlines()
    assert child.returncode == 130, said
    assert len(said) < 10 and "Traceback" not in "".join(said)
    model = resume(RumorModel, file)
    assert model.steps in steps_of(file)
    Services.of(model).recorder.close()


def steps_of(file):
    try:
        with open_run(file) as run:
            return run.steps
    except StoreError:  # it is being made
        return []
