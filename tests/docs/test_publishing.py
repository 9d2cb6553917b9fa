"""What is published is whole, and the workflows say what there is."""

import os
import re
import shutil
import tomllib
from pathlib import Path

import pytest
import yaml

import mesa_memory

ROOT = Path(__file__).parent.parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
STATED = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def steps(workflow):
    told = yaml.safe_load(workflow.read_text(encoding="utf-8"))
    return [step for job in told["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_each_command_of_a_workflow_exists(workflow):
    found = steps(workflow)
    assert found
    for step in found:
        assert ("run" in step) != ("uses" in step), step
        for line in step.get("run", "").splitlines():
            command, *given = line.split()
            if command.startswith(".ci/"):
                assert os.access(ROOT / command, os.X_OK), line
            else:
                assert command == "uv" and given[0] in ("sync", "run"), line
                assert given[0] == "sync" or shutil.which(given[1]), line


def test_tests_run_on_each_system_and_python_that_is_promised():
    told = yaml.safe_load((WORKFLOWS[-1]).read_text(encoding="utf-8"))
    matrix = told["jobs"]["tests"]["strategy"]["matrix"]
    assert matrix["python"] == ["3.12", "3.13", "3.14"]
    systems = {name.partition("-")[0] for name in matrix["os"]}
    assert systems == {"ubuntu", "macos", "windows"}


def test_publishing_needs_no_password():
    text = (ROOT / ".github/workflows/publish.yml").read_text(encoding="utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert "secrets." not in text and "password:" not in text


def test_each_extra_is_installed_and_used_before_anything_is_published():
    script = (ROOT / ".ci" / "install_check").read_text(encoding="utf-8")
    used = re.search(r"for extra in ([\w ]+);", script)[1].split()
    assert sorted(used) == sorted(STATED["project"]["optional-dependencies"])


def test_the_package_says_that_it_has_types_and_how_to_cite_it():
    assert (ROOT / "mesa_memory" / "py.typed").exists()
    told = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert told["version"] == mesa_memory.__version__
    assert told["license"] == STATED["project"]["license"]
    cited = (ROOT / "docs" / "cite.md").read_text(encoding="utf-8")
    assert cited.count(mesa_memory.__version__) == 2
    for name in ("CODE_OF_CONDUCT.md", "SECURITY.md"):
        assert len((ROOT / name).read_text(encoding="utf-8")) > 500
