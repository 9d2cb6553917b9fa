"""The documentation is whole: every name, error and picture, and no dead link."""

import inspect
import re
import runpy
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import mesa_memory
from mesa_memory import errors, experiments, layers, llm, memories, retrieval

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if "_build" not in page.parts)
#: words that a page may have: ten minutes at 260 words a minute
LONGEST = 2600
#: what a page imports from the top
_IMPORT = re.compile(r"^from mesa_memory import ([\w, ]+)$", re.MULTILINE)
_LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#[^)\s]*)?\)")


def of_errors():
    return [
        name
        for name, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, errors.MesaMemoryError) and not name.startswith("_")
    ]


def test_every_public_name_and_every_error_is_in_the_reference():
    told = "\n".join(page.read_text() for page in (DOCS / "api").glob("*.md"))
    documented = re.findall(
        r"auto(?:class|function|module):: mesa_memory\.([\w.]+)", told
    )
    names = {name.rpartition(".")[2] for name in documented}
    names |= set(of_errors()) if "errors" in names else set()  # the whole module
    modules = (mesa_memory, experiments, layers, llm, memories, retrieval)
    public = {name for module in modules for name in module.__all__}
    assert public | set(of_errors()) <= names
    assert len(documented) == len(set(documented))


def test_every_name_that_a_page_imports_from_the_top_is_public():
    for page in (ROOT / "README.md", *PAGES):
        for names in _IMPORT.findall(page.read_text()):
            for name in names.split(", "):
                module = find_spec(f"mesa_memory.{name}")
                assert module or hasattr(mesa_memory, name), (page.name, name)


def test_every_error_has_its_part_in_troubleshooting():
    told = (DOCS / "troubleshooting.md").read_text()
    headings = re.findall(r"^### (\w+)$", told, re.MULTILINE)
    assert sorted(headings) == sorted(of_errors())


def test_the_pictures_of_the_concepts_are_what_their_script_draws():
    drawn = runpy.run_path(str(DOCS / "pictures.py"))["PICTURES"]
    assert len(drawn) == 4
    for name, draw in drawn.items():
        assert (DOCS / "_static" / name).read_text(encoding="utf-8") == draw(), name
        page = DOCS / "concepts" / f"{name[8:-4]}.md"
        assert f"_static/{name}" in page.read_text()


def test_each_test_file_of_the_guarantees_begins_with_what_it_promises():
    told = runpy.run_path(str(DOCS / "guarantees.py"))
    found = {f: told["promises"](f) for f in told["AREAS"]}
    assert all(found.values())
    said = {f"{f}/{name}": text for f in found for name, text in found[f]}
    assert {name: text for name, text in said.items() if not text.endswith(".")} == {}
    table = told["table"]()
    assert all(text in table for text in said.values())


def test_each_defect_of_mesa_llm_names_tests_that_exist():
    folder = ROOT / "tests"
    told = (folder / "DEFECTS.md").read_text(encoding="utf-8")
    code = "\n".join(file.read_text("utf-8") for file in folder.rglob("test_*.py"))
    names = re.findall(r"[:`] ?(?:test|…)(_\w+)`", told)
    assert len(names) >= 40
    assert [name for name in names if f"{name}(" not in code] == []
    paths = re.findall(r"`(\w+/\w+\.py)`", told)
    assert paths and [path for path in paths if not (folder / path).exists()] == []


def test_no_page_takes_longer_than_ten_minutes():
    for page in PAGES:
        assert len(page.read_text(encoding="utf-8").split()) <= LONGEST


def test_every_link_in_the_repositorys_own_pages_leads_somewhere():
    for page in [*ROOT.glob("*.md"), *PAGES]:
        text = re.sub(
            r"```.*?```|`[^`\n]+`", "", page.read_text(encoding="utf-8"), flags=re.S
        )
        for target in _LINK.findall(text):
            assert not target or (page.parent / target).exists(), (page.name, target)


@pytest.mark.slow
def test_the_documentation_is_built_without_a_warning(tmp_path):
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-E"]
    ran = subprocess.run(
        [*command, "-b", "html", str(DOCS), str(tmp_path / "html")],
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    page = (tmp_path / "html" / "api" / "memories.html").read_text()
    assert 'id="mesa_memory.EpisodicMemory' in page
