"""A program that records a run just ends; nothing of it is lost."""

import ast
import subprocess
import sys

import pytest

from mesa_memory import Services, open_run, resume
from tests.support.street import Street, remembered

pytestmark = pytest.mark.slow


def program(file, ending):
    """Runs it to its end; what it printed, after making sure that nothing went wrong."""
    command = [sys.executable, "-m", "tests.support.street", str(file), ending]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.stderr == "" and done.returncode == 0
    return ast.literal_eval(done.stdout)


def test_a_program_that_just_ends_has_written_all_its_steps(tmp_path):
    program(tmp_path / "run.sqlite", "finished")
    with open_run(tmp_path / "run.sqlite") as run:
        assert list(run.steps) == [1, 2]
        assert run.state(1, 2, as_records=True)


def test_a_program_that_ends_before_its_first_step_has_begun_a_run(tmp_path):
    program(tmp_path / "run.sqlite", "untouched")
    street = resume(Street, tmp_path / "run.sqlite")
    assert street.steps == 0
    street.step()
    Services.of(street).recorder.close()
    with open_run(tmp_path / "run.sqlite") as run:
        assert list(run.steps) == [1]


@pytest.mark.parametrize("again", [False, True])
def test_what_was_changed_by_hand_at_last_is_there_when_the_run_goes_on(
    tmp_path, again
):
    file = tmp_path / "run.sqlite"
    if again:  # by hand in a run that was gone on with
        program(file, "finished")
    shown = program(file, "by hand")
    with open_run(file) as run:
        kinds = [row["kind"] for row in run.interventions(as_records=True)]
        assert kinds == ["implant", "edit", "erase", "edit", "exchange", "exchange"]
    street = resume(Street, file)
    assert remembered(street) == shown
    street.step()
    Services.of(street).recorder.close()
    with open_run(file) as run:
        kinds = [row["kind"] for row in run.interventions(as_records=True)]
        assert kinds == ["implant", "edit", "erase", "edit", "exchange", "exchange"]
        burns = [
            row
            for row in run.state(2, street.steps, as_records=True)
            if "The mill burns!" in row["text"]
        ]
        assert len(burns) == 1


def test_a_step_that_failed_as_the_program_ended_leaves_no_half_step(tmp_path):
    file = tmp_path / "run.sqlite"
    command = [sys.executable, "-m", "tests.support.street", str(file), "half"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.stderr.rstrip().endswith("ZeroDivisionError: division by zero")
    assert done.stderr.count("Traceback") == 1
    with open_run(file) as run:
        assert list(run.steps) == [1, 2]
    assert resume(Street, file).steps in (1, 2)
