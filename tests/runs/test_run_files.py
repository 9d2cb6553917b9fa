"""The file of a run: copied, sent on, and got from somebody else."""

import shutil

import pytest
from click.testing import CliRunner

from mesa_memory import Services, open_run, resume
from mesa_memory.cli import main
from mesa_memory.errors import StoreUnavailable
from tests.support.playing import ended, lived
from tests.support.street import Street


def played(file, steps=2):
    """A street that is still being recorded, with all of it in the store."""
    street = lived(Street(str(file)), steps)
    Services.of(street).recorder.sync()
    return street


def call(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_a_finished_run_is_one_file(tmp_path):
    file = tmp_path / "run.sqlite"
    ended(played(file))
    assert [path.name for path in tmp_path.iterdir()] == ["run.sqlite"]
    shutil.copy(file, tmp_path / "copy.sqlite")
    assert resume(Street, tmp_path / "copy.sqlite").steps == 2


def test_a_run_is_copied_whole_while_it_goes_on(tmp_path):
    street = played(tmp_path / "run.sqlite")
    copy = tmp_path / "copy.sqlite"
    done = call("copy", tmp_path / "run.sqlite", copy)
    assert done.exit_code == 0, done.output
    assert "copy.sqlite" in done.stdout
    names = {path.name for path in tmp_path.iterdir()}
    assert not {"copy.sqlite-wal", "copy.sqlite-journal"} & names
    street.step()
    again = resume(Street, copy)
    assert again.steps == 2
    refused = call("copy", tmp_path / "run.sqlite", copy)
    assert refused.exit_code == 2 and "exists already" in refused.stderr
    refused = call("copy", "postgresql://somewhere/else", tmp_path / "b.sqlite")
    assert refused.exit_code == 2 and "pg_dump" in refused.stderr


def test_half_a_copy_says_what_is_missing(tmp_path):
    street = played(tmp_path / "run.sqlite")
    copy = tmp_path / "copy.sqlite"
    shutil.copy(tmp_path / "run.sqlite", copy)
    for ask in (open_run, lambda file: resume(Street, file)):
        with pytest.raises(StoreUnavailable, match="mesa-memory copy ORIGINAL"):
            ask(copy)
    told = call("inspect", copy)
    assert told.exit_code == 2 and "-wal file is missing" in told.stderr.replace(
        "\n", " "
    )
    ended(street)
