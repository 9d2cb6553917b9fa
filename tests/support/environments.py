"""Environments with other versions of the packages that this one works inside of."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from tests.support.missing import missing

ROOT = Path(__file__).parents[2]
#: what the tests run in such an environment need besides the package's own needs
TESTING = ("pytest", "pytest-asyncio", "pytest-timeout", "pytest-xdist", "aiohttp")


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def needs(without=()):
    """What the package needs, but for some packages."""
    stated = project()["project"]["dependencies"]
    return [each for each in stated if _name(each) not in without]


def tested(without=()):
    """The versions the tests were last run with, but for some packages."""
    stated = project()["tool"]["uv"]["constraint-dependencies"]
    return [each for each in stated if _name(each) not in without]


def make(place, wanted, constraints=()):
    """An environment's Python, made once; skips the test where it cannot be had.

    Args:
        place: folder for it; what is there already is taken, if it has the same.
        wanted: requirements; this package itself comes from the tree.
        constraints: versions.
    """
    python = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stated = "\n".join([*wanted, "--", *constraints])
    note = place / "wanted.txt"
    if note.exists() and note.read_text() == stated:
        return python
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is None:
        missing("uv is not installed: pip install uv")
    shutil.rmtree(place, ignore_errors=True)
    if failed := _call(uv, "venv", "-q", "--python", sys.executable, str(place)):
        missing(f"the environment cannot be made: {failed}")
    files = {"requirements": wanted, "constraints": constraints}
    for name, lines in files.items():
        (place / f"{name}.txt").write_text("\n".join(lines))
    failed = _call(
        uv, "pip", "install", "-q", "--python", str(python),
        "-r", str(place / "requirements.txt"), "-c", str(place / "constraints.txt"),
    )  # fmt: skip
    if failed:
        missing(f"the environment cannot be made: {failed}")
    note.write_text(stated)
    return python


def run_pytest(python, *arguments, path=(ROOT,), timeout=840):
    """Runs tests with another Python; its output if they fail, else an empty text."""
    given = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, path))}
    for name in ("VIRTUAL_ENV", "PYTEST_XDIST_WORKER", "PYTEST_CURRENT_TEST"):
        given.pop(name, None)
    done = subprocess.run(
        [str(python), "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider"]
        + [str(each) for each in arguments],
        cwd=ROOT,
        env=given,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


def _call(*command):
    """What was said by a command that failed; empty if it did not."""
    # Away from the tree, whose own constraints uv would take up.
    away = tempfile.gettempdir()
    done = subprocess.run(command, capture_output=True, text=True, cwd=away)
    return done.stderr[-2000:] or "it failed" if done.returncode else ""


def _name(requirement):
    return re.split(r"[^A-Za-z0-9_.-]", requirement)[0].lower()
