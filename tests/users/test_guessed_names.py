"""A name that users guess leads to the right one, and what they forget is told."""

import mesa
import pytest

import mesa_memory
from mesa_memory import open_run
from mesa_memory.experiments import Study
from tests.support.recorded_town import RecordedTown
from tests.support.studied import Street, remembered


@pytest.mark.parametrize("name", ["Study", "placebo"])
def test_a_name_of_experiments_says_where_it_is(name):
    with pytest.raises(
        AttributeError, match=f"from mesa_memory.experiments import {name}"
    ):
        getattr(mesa_memory, name)
    assert not hasattr(mesa_memory, "EpisodicMemoy")


@pytest.mark.parametrize(
    ("guess", "right"), [("messages", "run.history"), ("explain", "run.recalls")]
)
def test_a_run_says_which_method_has_what_is_looked_for(tmp_path, guess, right):
    file = tmp_path / "run.sqlite"
    with mesa_memory.configure(town := RecordedTown(True), record=file):
        town.step()
    with open_run(file) as run:
        with pytest.raises(AttributeError, match=right):
            getattr(run, guess)
        with pytest.raises(AttributeError, match=r"a Run lacks 'other'$"):
            run.other


def test_a_recorded_run_without_memories_is_told_at_its_end(tmp_path, caplog):
    class Forgetful(mesa.Model):
        def __init__(self):
            super().__init__(rng=1)
            mesa_memory.configure(self, record=tmp_path / "run.sqlite")

    for town, told in ((Forgetful(), 1), (RecordedTown(tmp_path / "other.sqlite"), 1)):
        town.step()
        mesa_memory.close(town)
        assert caplog.text.count("no agent of this run had a memory") == told


def test_a_study_and_its_results_say_what_they_are(tmp_path):
    study = Study(
        Street, {"n": [1, 2]}, seeds=range(2), steps=1, outcomes={"kept": remembered},
        store=tmp_path / "study.sqlite",
    )  # fmt: skip
    assert repr(study).startswith("<Study 'Street': 4 runs in ")
    assert repr(study.run("serial", progress=False)).startswith(
        "study 'Street': 4 finished of 4; "
    )
    assert repr(study.results()) == (
        "<Results of 4 runs; tables: runs, steps, agents, calls, answers>"
    )
