"""A study as a sealed folder, with and without what was said in it."""

import json
import sqlite3

import pandas as pd
import pytest
from click.testing import CliRunner

from mesa_memory.cli import main
from mesa_memory.errors import StudyError
from mesa_memory.experiments import Study, verify
from mesa_memory.experiments.reports.archive import SEAL, TABLES
from mesa_memory.stores.open import open_store
from tests.experiments.test_attribution import SECRET, Valley, fords
from tests.support.study_results import run


def valley(store):
    """A study in which a secret is remembered, asked, and said."""
    return Study(
        Valley, {"planted": [True, False], "n": 2}, seeds=range(2), steps=2,
        outcomes={"fords": fords}, store=store,
    )  # fmt: skip


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    found = valley(tmp_path_factory.mktemp("archive") / "study.sqlite")
    run(found)
    return found


def everything(folder):
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")))


def test_it_has_all_of_the_study_and_any_change_is_told(study, tmp_path):
    folder = study.archive(tmp_path / "sealed")
    names = {path.name for path in folder.iterdir()}
    expected = {SEAL, "methods.txt", "checklist.md", "report.html", "store.sqlite"}
    assert names == expected | {f"{name}.csv" for name in TABLES}
    assert SECRET.encode() in everything(folder)
    done = CliRunner().invoke(main, ["study", "verify", str(folder)])
    assert done.exit_code == 0 and "as it was sealed" in done.output
    frame = pd.read_csv(folder / "runs.csv")
    assert list(frame["fords"]) == list(study.results().runs["fords"])
    copy = valley(folder / "store.sqlite")
    assert copy.methods() == study.methods() and copy.status().finished
    (folder / "methods.txt").write_text("Nothing was done.")
    (folder / "steps.csv").unlink()
    (folder / "more.txt").write_text("x")
    assert verify(folder) == [
        "steps.csv is missing", "more.txt was added", "methods.txt was changed",
    ]  # fmt: skip
    done = CliRunner().invoke(main, ["study", "verify", str(folder)])
    assert done.exit_code == 1 and "steps.csv is missing" in done.output
    with pytest.raises(FileExistsError):
        study.archive(folder)


def test_without_texts_the_numbers_stay_and_nothing_that_was_said(study, tmp_path):
    folder = study.archive(tmp_path / "silent", texts=False)
    assert verify(folder) == [] and not (folder / "report.html").exists()
    assert SECRET.encode() not in everything(folder)
    assert b"weather is mild" not in everything(folder)
    with sqlite3.connect(folder / "store.sqlite") as silent:
        counts = "SELECT count(*), sum(tokens_in) FROM calls"
        with sqlite3.connect(study.location) as whole:
            assert silent.execute(counts).fetchone() == whole.execute(counts).fetchone()
    open_store(folder / "store.sqlite", read_only=True).close()


def test_a_folder_without_a_seal_is_told(tmp_path):
    with pytest.raises(StudyError, match=r"not a sealed folder of a study: seal\.json"):
        verify(tmp_path)
    (tmp_path / SEAL).write_text(json.dumps([]))
    done = CliRunner().invoke(main, ["study", "verify", str(tmp_path)])
    assert done.exit_code == 2 and "not a sealed folder" in done.output
