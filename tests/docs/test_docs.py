"""The documentation is true: every Python block of it runs."""

import os
import re
import shlex
import subprocess
import sys
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from click.testing import CliRunner
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

from mesa_memory import open_run
from mesa_memory.cli import main
from tests.support.browser import served

ROOT = Path(__file__).parent.parent.parent
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "mesa_memory" / "examples").glob("*/README.md")),
]


#: pages whose studies take ten seconds and more
LONG = {"naming_game", "memory_length", "compare_arms", "rumor"}


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page, marks=pytest.mark.slow if {page.stem, page.parent.name} & LONG else ()
        )
        for page in PAGES
    ],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_every_code_block_runs(page):
    document = Sybil(parsers=[PythonCodeBlockParser()]).parse(page)
    for example in document.examples():
        example.evaluate()


def test_the_documentation_has_code():
    parse = Sybil(parsers=[PythonCodeBlockParser()]).parse
    assert sum(len(list(parse(page).examples())) for page in PAGES) > 10


def test_the_model_in_the_readme_prints_what_stands_below_it():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code, printed = re.search(
        r"```python\n(import mesa\n.*?)```\n\n```text\n(.*?)```", text, re.DOTALL
    ).groups()
    out = StringIO()
    with redirect_stdout(out):
        exec(code, {"__name__": "readme"})
    assert out.getvalue() == printed
    # What they remember decides what they do.
    forgetful, mindful = (line.split(" ", 1)[1] for line in printed.splitlines())
    assert forgetful != mindful


def test_the_readme_is_one_page():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 130


# -- the tutorial, from an empty folder as a user would do it --------------------------

DOCS = ROOT / "docs"
_BLOCK = re.compile(
    r"^```(?:\{code-block\} python\n:caption: (?P<file>\S+)\n\n|(?P<kind>bash|text)\n)"
    r"(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
SECONDS = 600


def run(command, folder):
    """What a line in a terminal prints; our own command is called in this process."""
    name, *given = shlex.split(command)
    if name == "mesa-memory":
        with chdir(folder):
            said = CliRunner().invoke(main, given)
        # As the tutorial says of diff.
        assert said.exit_code in ((0, 1) if given[0] == "diff" else (0,)), said.output
        return said.output
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=os.environ | {"PATH": path, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    for told in ("leaked", "lacks get_state"):
        assert told not in ran.stderr, ran.stderr
    assert ran.returncode == 0, f"{command}\n{ran.stdout}\n{ran.stderr}"
    return ran.stdout


def walked(page, folder):
    """What each command of a page prints, in the folder where its files are made."""
    printed, last = {}, ""
    for block in _BLOCK.finditer((DOCS / page).read_text(encoding="utf-8")):
        if block["file"]:
            (folder / block["file"]).write_text(block["text"], encoding="utf-8")
            continue
        if block["kind"] == "text":
            assert set(block["text"].splitlines()) <= set(last.splitlines())
            continue
        for command in block["text"].splitlines():
            if command.startswith("mesa-memory dashboard"):
                given = command.split()[1:]
                look = ("-m", "mesa_memory.cli", *given[:1])
                file = str(folder / given[1])
                with served(*look, file, "--port", "0", "--no-open") as base:
                    assert base.startswith("http://127.0.0.1:")
                continue
            last = printed[command] = run(command, folder)
    return printed


@pytest.mark.slow
def test_tutorial_and_study_lead_from_an_empty_folder_to_an_archive(tmp_path):
    printed = walked("tutorial.md", tmp_path)
    assert "relevance" in printed["python look.py"]
    # Resumed, it ends as the run that was not interrupted.
    went_on = printed["python go_on.py"]
    assert "going on after day 8\n8 of 10 would come on the right day" in went_on
    with open_run(tmp_path / "run.sqlite") as found:
        assert found.steps == [float(day) for day in range(1, 13)]
    assert (tmp_path / "report.html").stat().st_size > 20_000
    status = printed["mesa-memory study status compare.py"]
    assert "20 finished of 20" in status and "records recalled" in status
    assert (tmp_path / "study.html").stat().st_size > 20_000
    # The study takes at most 15 lines of code after the model.
    text = (tmp_path / "compare.py").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.strip()]
    assert len([line for line in lines if '"""' not in line]) <= 15

    # The next page goes on in the same folder.
    printed = walked("study.md", tmp_path)
    (exam,) = (said for line, said in printed.items() if "exam" in line)
    assert "dropped" in exam
    assert (tmp_path / "paper.html").stat().st_size > 20_000
    rows = (tmp_path / "panel" / "panel.csv").read_text().splitlines()
    assert len(rows) == 1 + 10 * 12
    assert (tmp_path / "archive" / "seal.json").exists()
