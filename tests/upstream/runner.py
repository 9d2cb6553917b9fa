"""Gets Mesa-LLM's source distribution and runs the tests in it against our memories."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

VERSION = "0.3.2"
ARCHIVE = f"mesa_llm-{VERSION}.tar.gz"
HERE = Path(__file__).parent
#: what of Mesa-LLM's tests is about memory
SELECTED = (
    "tests/test_memory",
    "tests/test_async_memory.py",
    "tests/test_double_pre_post_step.py",
    "tests/test_integration",
)
#: what of them is about agents that ask a language model
ASKING = (
    "tests/test_reasoning",
    "tests/test_tools",
    "tests/test_llm_agent.py",
    "tests/test_module_llm.py",
    "tests/test_parallel_stepping.py",
    "tests/test_integration",
)
#: as Mesa-LLM's own pyproject.toml has it
INI = """[pytest]
asyncio_mode = strict
asyncio_default_fixture_loop_scope = function
"""


class NotAvailable(Exception):
    """The source distribution cannot be had here; says why."""


@dataclass(frozen=True)
class Result:
    """One run of Mesa-LLM's tests.

    Attributes:
        outcomes: test id -> (outcome, what went wrong).
        strangers: test modules that still had a memory class of Mesa-LLM's.
        touching: ids of the tests that made a memory of ours.
    """

    outcomes: dict[str, tuple[str, str]]
    strangers: list[str]
    touching: set[str]


def sdist(cache: Path) -> Path:
    """The archive or folder that ``MESA_LLM_SDIST`` names, or a download.

    Args:
        cache: folder where the download is kept for the next time.

    Raises:
        NotAvailable: if there is no such file and no way to download it.
    """
    given = os.environ.get("MESA_LLM_SDIST")
    if given:
        if not Path(given).exists():
            raise NotAvailable(f"MESA_LLM_SDIST names {given!r}, which does not exist")
        return Path(given)
    archive = cache / ARCHIVE
    if not archive.exists():
        _download(cache)
    return archive


def unpack(source: Path, target: Path) -> Path:
    """Copies the tests, without Mesa-LLM's package, to a folder they can run in.

    The installed Mesa-LLM is tested, not the one beside the tests.

    Raises:
        NotAvailable: if there are no tests in ``source``.
    """
    if source.is_file():
        with tarfile.open(source) as archive:
            archive.extractall(target / "sdist", filter="data")
        source = target / "sdist"
    found = sorted(
        source.glob("**/tests/test_memory"), key=lambda path: len(path.parts)
    )
    if not found:
        raise NotAvailable(f"{source} holds no tests/test_memory")
    run = target / "run"
    shutil.copytree(found[0].parent, run / "tests")
    (run / "pytest.ini").write_text(INI)
    return run


def run(
    folder: Path, plugin: str = "replace_classes", selected: tuple = SELECTED
) -> Result:
    """Runs the selected tests in a process of their own.

    Args:
        plugin: a module of this folder.
    """
    report = folder / "report.json"
    process = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-c", "pytest.ini", "--rootdir", "."),
            *("-p", "pytest_asyncio.plugin", "-p", plugin, "-p", "no:cacheprovider"),
            *("-q", "-W", "ignore", *selected),
        ],
        cwd=folder,
        env=_environment(report),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if not report.exists():
        raise RuntimeError(f"no report:\n{process.stdout[-2000:]}{process.stderr}")
    content = json.loads(report.read_text())
    report.unlink()
    outcomes = {test: tuple(told) for test, told in content["outcomes"].items()}
    return Result(outcomes, content["strangers"], set(content["touching"]))


def _environment(report: Path) -> dict[str, str]:
    """Of this process only what a program needs to start."""
    kept = ("PATH", "HOME", "LANG", "TMPDIR", "SYSTEMROOT", "VIRTUAL_ENV")
    root = HERE.parents[1]
    return {name: os.environ[name] for name in kept if name in os.environ} | {
        "PYTHONPATH": os.pathsep.join([str(HERE), str(root)]),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else litellm asks the network
        "UPSTREAM_REPORT": str(report),
    }


def _download(cache: Path) -> None:
    command = [os.environ.get("UV") or "uv", "tool", "run", "--python", sys.executable]
    command += ["pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
    command += ["--dest", str(cache), f"mesa-llm=={VERSION}"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=600, check=False
        )
        said = done.stderr.strip()[-300:] or f"exit status {done.returncode}"
    except (OSError, subprocess.TimeoutExpired) as error:
        said = str(error)
    if not (cache / ARCHIVE).exists():
        raise NotAvailable(
            f"mesa-llm {VERSION} could not be downloaded; set MESA_LLM_SDIST to "
            f"{ARCHIVE} or to a folder with it unpacked. {said}"
        )
