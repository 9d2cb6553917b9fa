"""Studies from the command line: run, looked at, estimated."""

import json
import sys

import pandas as pd
import pytest
from click.testing import CliRunner

from mesa_memory.cli import main
from mesa_memory.cli.run import imported
from mesa_memory.cli.study import read_study

PYTHON = """
from mesa_memory.experiments import Study
from mesa_memory.examples.rumor.model import RumorModel

def known(model):
    return model.knowing("rumour")

def said(model):
    return "＝1+1"

def loss(model):
    return -3

study = Study(
    RumorModel, {{"n_agents": 4, "memory": ["short_term", "stlt"]}}, seeds=[1, 2],
    steps=4, measures={{"known": known}}, outcomes={{"knowing": known, "said": said, "loss": loss}}, store={store!r}, name={name!r},
)
"""


@pytest.fixture(autouse=True)
def path(monkeypatch):
    """A command lets the folder of its file be imported; the next test does not."""
    monkeypatch.setattr(sys, "path", [*sys.path])


@pytest.fixture
def file(tmp_path, request):
    """A study in a module that has a name of its own in each test."""
    name = f"study_of_{abs(hash(request.node.name)) % 10**8}"
    python = tmp_path / f"{name}.py"
    store = str(tmp_path / "python.sqlite")
    python.write_text(PYTHON.format(store=store, name=name))
    return str(python)


def call(*arguments):
    return CliRunner().invoke(main, ["study", *map(str, arguments)])


def data(*arguments):
    result = call(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_study_in_a_file_is_run_and_looked_at(file, tmp_path):
    ran = call("run", file, "--processes", 1)
    assert ran.exit_code == 0, ran.output
    told = data("status", file)
    assert (told["study"]["finished"], told["study"]["waiting"]) == (4, 0)
    assert [row["parameters"]["memory"] for row in told["checks"]] == [
        "short_term",
        "stlt",
    ]
    assert "Manipulation checks" in call("status", file).stdout
    assert data("results", file)["runs"][0]["memory"] == "short_term"
    out = tmp_path / "steps.csv"
    assert call("results", file, "--table", "steps", "--out", out).exit_code == 0
    assert set(pd.read_csv(out)["known"]) <= set(range(5))
    assert call("results", file, "--out", tmp_path / "runs.csv").exit_code == 0
    table = pd.read_csv(tmp_path / "runs.csv")  # no formula, and numbers stay numbers
    assert list(table["said"]) == ["'＝1+1"] * 4 and list(table["loss"]) == [-3] * 4
    text = call("methods", file).stdout
    for said in ("RumorModel", "4 times for 4 steps", "memory (short_term, stlt)",
                 "seeds were 1 and 2", "n_agents = 4", "offline/rumor", "mesa-memory "):  # fmt: skip
        assert said in text, text


def test_arms_are_compared_as_in_python_and_drawn(file, tmp_path):
    assert call("run", file, "--processes", 1).exit_code == 0
    drawn = tmp_path / "pairs.png"
    given = (file, "--base", "stlt", "--outcome", "knowing")
    told = call("compare", *given, "--plot", drawn)
    assert told.exit_code == 0, told.output
    found = read_study(file).compare(base="stlt", outcome="knowing")
    assert told.stdout.split() == str(found).split() and drawn.exists()
    table = found.table()
    arms = data("compare", *given)["arms"]
    assert [row["mean"] for row in arms] == list(table["mean"])
    needed = data("seeds", *given, "--half-width", 1)["seeds"]
    least, most = found.seeds_for(half_width=1)["short_term"]
    assert needed == [{"arm": "short_term", "seeds": least, "at most": most}]
    audited = call(
        "audit", file, "--memory", "stlt", "--base", "short_term", "--outcome",
        "knowing", "--processes", 1,
    )  # fmt: skip
    assert audited.exit_code == 0, audited.output
    shift = audited.stdout.partition("largest shift ")[2]
    assert ", effect " in shift and "wording: " in shift
    wrong = call("compare", file, "--base", "mood", "--outcome", "knowing")
    assert wrong.exit_code == 2 and "base='mood' is no level" in wrong.stderr


def test_what_a_study_will_cost_is_said_for_missing_runs_and_stands_beside_the_count(
    file,
):
    told = data("estimate", file, "--llm", "openai/gpt-5-mini")
    assert [row["runs"] for row in told["arms"]] == [2] * 2
    assert told["total"]["runs"] == 4
    assert told["total"]["cost"] == pytest.approx(sum(r["cost"] for r in told["arms"]))
    study = read_study(file)
    forecast = study.estimate()
    study.run("serial", progress=False)
    assert study.estimate().runs == 0
    again = read_study(file)
    again.run("serial", progress=False)  # nothing is missing, and nothing is forgotten
    status = again.status()
    assert status.forecast == forecast.total
    assert status.forecast["runs"] == 4
    assert abs(status.forecast["calls"] / status.calls - 1) < 0.05
    said = f"forecast before the first run: {status.forecast['calls']} calls"
    assert said in str(status)
    shown = data("status", file)["study"]
    assert shown["calls as forecast"] == status.forecast["calls"]
    assert "Nothing is missing" in call("estimate", file).stdout


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere:Thing", "cannot be loaded"),
        ("os:sep", "'/', not a class"),
        ("random:Town", r"random\.py\)\. Give module:name, of a file whose name no"),
    ],
)
def test_what_is_not_a_class_or_function_is_named(name, said):
    with pytest.raises(ValueError, match=said):
        imported(name)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no_study_here.py", "must have a variable study"),
        ("gone.py", "was not found"),
        ("study.toml", "not a Python file"),
        ("click.py", "another module is called 'click' already"),
    ],
)
def test_what_is_no_study_ends_in_one_line(tmp_path, name, said):
    if name != "gone.py":
        (tmp_path / name).write_text("study = 3")
    result = call("status", tmp_path / name)
    assert result.exit_code == 2
    assert said in result.stderr and len(result.stderr.strip().splitlines()) == 1


def test_an_exam_finds_a_memory_in_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = (
        "from mesa_memory import ShortTermMemory\n\n\nclass Mine(ShortTermMemory): ..."
    )
    (tmp_path / "mine_of_exam.py").write_text(code)
    asked = ["--seeds", "1", "--steps", "10", "--no-questions", "--estimate"]
    done = CliRunner().invoke(main, ["exam", "--memory", "mine_of_exam:Mine", *asked])
    assert done.exit_code == 0, done.output


def test_the_name_of_a_module_alone_is_refused_with_the_form_to_give():
    with pytest.raises(ValueError, match="not a class or function: give module:name"):
        imported("queue")
