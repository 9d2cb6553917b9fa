"""The script for submitit on the page about clusters, with submitit's local executor."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.study_results import csv, run

PAGE = Path(__file__).parent.parent.parent / "docs" / "cluster.md"
TOWN = """
from mesa_memory.examples.rumor.model import RUMOUR, RumorModel
from mesa_memory.experiments import Study


def informed(model):
    return model.knowing(RUMOUR)


study = Study(
    RumorModel, {"memory": ["short_term", "stlt"], "n_agents": 4}, seeds=range(2),
    steps=2, outcomes={"informed": informed}, store="STORE",
)
"""


@pytest.mark.slow
def test_the_pages_script_for_submitit_makes_the_runs_of_one_process(tmp_path):
    (script,) = re.findall(r"```text\n(import submitit.*?)```", PAGE.read_text(), re.S)
    assert script.count("SHARDS = 40") == 1
    (tmp_path / "submit.py").write_text(script.replace("SHARDS = 40", "SHARDS = 3"))
    for name in ("town", "whole"):
        store = str(tmp_path / f"{name}.sqlite")
        (tmp_path / f"{name}.py").write_text(TOWN.replace("STORE", store))
    command = [sys.executable, "submit.py"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=200
    )
    assert (done.returncode, done.stdout.strip()) == (0, "4 runs"), done.stderr
    study, whole = (
        runpy.run_path(str(tmp_path / f"{name}.py"))["study"]
        for name in ("town", "whole")
    )
    run(whole)
    assert csv(study) == csv(whole)
