"""The documentation is true: every Python block of it runs."""

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


#: pages whose studies take ten seconds and more
LONG = ("naming_game", "memory_length")


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.slow if page.stem in LONG else ())
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
