"""The fingerprint of a study covers the project's files, and imports nothing."""

import importlib
import operator
import sys

import numpy as np
import pytest
from mesa_llm.tools.tool_decorator import _GLOBAL_TOOL_REGISTRY

from mesa_memory.errors import StudyChanged
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.experiments import Study
from tests.support.studied import Street
from tests.support.study_results import run

MODEL = """
import mesa

{imports}

class Town(mesa.Model):
    def __init__(self, rng=None):
        super().__init__(rng=rng)
"""
#: what importing would do to a study
POISON = "raise AssertionError('imported by the fingerprint')\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Writes files into a folder on ``sys.path``; gives the study of ``Town``."""
    monkeypatch.syspath_prepend(tmp_path)
    before, tools = set(sys.modules), dict(_GLOBAL_TOOL_REGISTRY)

    def made(files, model, **given):
        for name, text in files.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        importlib.invalidate_caches()
        town = importlib.import_module(model).Town
        return Study(town, steps=1, store=tmp_path / "s.sqlite", **given)

    yield made
    for name in set(sys.modules) - before:
        del sys.modules[name]
    for name in _GLOBAL_TOOL_REGISTRY.keys() - tools:  # else all agents have them
        del _GLOBAL_TOOL_REGISTRY[name]


def code(study):
    """The names of the files, and a check that nothing was imported for them."""
    before = set(sys.modules)
    found = list(study.fingerprint["code"])
    assert set(sys.modules) == before
    return found


def lazily(line):
    return MODEL.format(imports=f"def later():\n    {line}\n")


@pytest.mark.parametrize(
    "packages", ["venv/Lib/site-packages", ".conda/lib/python3/dist-packages"]
)
def test_packages_of_an_environment_inside_the_project_are_left_out(
    project, tmp_path, monkeypatch, packages
):
    monkeypatch.syspath_prepend(tmp_path / packages)
    study = project(
        {
            f"{packages}/poisoned/__init__.py": "",
            f"{packages}/poisoned/shell.py": POISON,
            f"{packages}/lonely.py": POISON,
            "rules_a.py": "def fair():\n    import poisoned.shell, lonely\n",
            "town_a.py": lazily("from poisoned.shell import run; import rules_a"),
        },
        "town_a",
    )
    folder = tmp_path.name
    assert code(study) == [f"{folder}/rules_a.py", f"{folder}/town_a.py"]
    assert run(study).finished


@pytest.mark.parametrize("line", [
    "from town_b import rules", "import town_b.rules", "from .rules import *",
])  # fmt: skip
def test_submodules_are_found_by_path_and_not_imported(project, line):
    files = {
        "town_b/__init__.py": "",
        "town_b/model.py": lazily(line.replace("*", "fair")),
        "town_b/rules.py": f"from .deep import base\n{POISON}",
        "town_b/deep/__init__.py": POISON,
        "town_b/deep/base.py": "from ... import outside\n",
        "town_b/unused.py": POISON,
    }
    assert code(project(files, "town_b.model")) == [
        "town_b/__init__.py", "town_b/deep/__init__.py", "town_b/deep/base.py",
        "town_b/model.py", "town_b/rules.py",
    ]  # fmt: skip


def test_folders_without_init_and_modules_beside_the_package_count(project, tmp_path):
    files = {
        "town_c/model.py": lazily("from town_c.parts import rules; import beside"),
        "town_c/parts/rules.py": "import json, mesa, no_such_module\n",
        "beside.py": "1 +\n",  # not even valid Python
    }
    beside = f"{tmp_path.name}/beside.py"
    names = sorted([beside, "town_c/model.py", "town_c/parts/rules.py"])
    assert code(project(files, "town_c.model")) == names


def test_objects_of_installed_packages_count_by_version(tmp_path):
    measures = {"mean": np.mean, "time": operator.attrgetter("time"), "n": len}
    study = Study(RumorModel, steps=1, measures=measures, store=tmp_path / "s.sqlite")
    assert not any("numpy" in name or "operator" in name for name in code(study))
    assert study.fingerprint["versions"]["numpy"] == np.__version__
    assert {"en/grade", "es/consolidate"} <= study.fingerprint["prompts"].keys()


def test_settings_are_those_of_the_runs_and_not_defaults(tmp_path):
    """A factor is a part of a run's parameters; another level changes no finished run."""
    file = tmp_path / "s.sqlite"
    assert (
        "temperature"
        not in Study(Street, steps=1, store=file).fingerprint["configuration"]
    )
    assert run(Study(Street, {"temperature": [0.2]}, steps=1, store=file)).finished
    assert run(Study(Street, {"temperature": [0.2, 0.9]}, steps=1, store=file)).finished
    assert run(Study(Street, {"temperature": [0.9]}, steps=1, store=file)).finished


TOWN = """
import mesa
from mesa_llm.tools.tool_decorator import tool
from pydantic import BaseModel

RATE = 0.5

@tool
def move(agent, to: str):
    '''Moves.

    Args:
        agent: who.
        to: where.
    '''
    return to

class Reply(BaseModel):
    '''What is said.'''

    said: str

class Town(mesa.Model):
    def __init__(self, rng=None):
        super().__init__(rng=rng)
        self.left = [1,
                     2]

    def step(self):
        self.left = self.left[:-1]

def left(model):
    return len(model.left)
"""


def test_comments_docstrings_and_layout_are_no_drift(project, tmp_path):
    study = project({"town_e.py": TOWN}, "town_e")
    assert run(study).finished
    edits = {
        "[1,\n                     2]": "[1, 2]  # two",
        "def step(self):": 'def step(self):\n        """Takes one away."""',
        "class Town(": "# A town.\nclass Town(",
        "\n\nclass": "\n\n\nclass",
    }
    edited = f"'''A file.'''\n{TOWN}"
    for edit in edits.items():
        assert edit[0] in edited
        edited = edited.replace(*edit)
    (tmp_path / "town_e.py").write_text(edited)
    assert run(study).finished


@pytest.mark.parametrize("change", [
    ("RATE = 0.5", "RATE = 0.25"),
    ("self.left[:-1]", "self.left[1:]"),
    ("class Town(mesa.Model):", "class Town(mesa.Model):\n    'x'.upper()"),
    ("import mesa\n", "import mesa, math\n"),
    # A language model reads these two docstrings.
    ("Moves.", "Moves fast."),
    ("What is said.", "What is meant."),
    ("import mesa\n", "import mesa as\n"),
])  # fmt: skip
def test_a_change_of_code_names_the_file(project, tmp_path, change):
    study = project({"town_f.py": TOWN}, "town_f")
    assert run(study).finished
    assert change[0] in TOWN
    (tmp_path / "town_f.py").write_text(TOWN.replace(*change))
    told = f"code: {tmp_path.name}/town_f.py was changed"
    with pytest.raises(StudyChanged, match=told) as stopped:
        run(study)
    assert stopped.value.differences == (told,)


GROWING = """
import mesa
from mesa_memory.experiments import Study

class Town(mesa.Model):
    def __init__(self, size=1, rng=None):
        super().__init__(rng=rng)

study = Study(
    Town, {"size": [1, 2]}, seeds=[1], steps=1, store="s.sqlite",
    outcomes={"end": lambda model: 1},
)

if __name__ == "__main__":
    print(study.run(2))
"""


def test_a_study_grows_in_the_file_that_has_its_model(project, tmp_path):
    """Levels, seeds and steps are in each run's parameters, and workers run no analysis."""
    study = project({"town_g.py": GROWING}, "town_g", factors={"size": [1, 2]})
    assert run(study).finished
    edits = [("[1, 2]", "[1, 2, 3]"), ("seeds=[1]", "seeds=range(9)"), ("steps=1", "steps=2"),
             ("    print(study.run(2))", "    study.run()\n    print(study.results())")]  # fmt: skip
    edited = GROWING
    for edit in edits:
        assert edit[0] in edited
        edited = edited.replace(*edit)
    (tmp_path / "town_g.py").write_text(edited)
    assert run(study).finished
