"""The documentation is true: every Python block of it runs."""

from pathlib import Path

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_code_block_runs(page):
    document = Sybil(parsers=[PythonCodeBlockParser()]).parse(page)
    for example in document.examples():
        example.evaluate()


def test_the_documentation_has_code():
    parse = Sybil(parsers=[PythonCodeBlockParser()]).parse
    assert sum(len(list(parse(page).examples())) for page in PAGES) > 10
