"""Programs that a benchmark starts, listens to and ends; and Chromium."""

import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

CHROMIUM = "/usr/bin/chromium"
#: seconds that a server may take to answer
PATIENCE = 60


class Took(NamedTuple):
    """Seconds by the clock, and processor seconds of the program."""

    clock: float
    processor: float

    @classmethod
    def of(cls, process: subprocess.Popen) -> Self:
        """Waits until a program of ``benchmarks.watched`` says it."""
        clock, processor = said(process, r"took (\S+ \S+)").split()
        return cls(float(clock), float(processor))


@contextmanager
def program(*command: str) -> Iterator[subprocess.Popen]:
    """A Python program with pipes, ended afterwards."""
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def said(process: subprocess.Popen, pattern: str) -> str:
    """Waits until a program says something; the first group of it."""
    lines = []
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line)
        found = re.search(pattern, line)
        if found:
            return found.group(1)
    raise RuntimeError(f"{process.args!r} ended without {pattern}: {''.join(lines)}")


def go(process: subprocess.Popen) -> Took:
    """Lets a program of ``benchmarks.watched`` begin; what it took."""
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()
    return Took.of(process)


def seconds(pid: int) -> float:
    """Processor seconds that a process has used (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def dashboard(path: Path) -> Iterator[tuple[subprocess.Popen, str]]:
    """The server of ``mesa-memory dashboard`` with a recorded run, and its address."""
    options = ("--port", "0", "--no-open")
    with program("-m", "mesa_memory.cli", "dashboard", str(path), *options) as server:
        yield server, said(server, r"(http://\S+)")


@contextmanager
def page_server() -> Iterator[tuple[subprocess.Popen, str]]:
    """The page ``benchmarks/watched_page.py``, and its address."""
    file = str(Path(__file__).with_name("watched_page.py"))
    options = ("--port", "0", "--no-open", "--production", "--no-check-version")
    command = ("-m", "solara", "run", file, "--host", "127.0.0.1", *options)
    with program(*command) as server:
        base = said(server, r"starting at (http://\S+)").rstrip("/")
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            # It says where it is before it is there.
            with suppress(OSError):
                urllib.request.urlopen(f"{base}/readyz", timeout=5).close()
                break
            time.sleep(0.1)
        yield server, base


@contextmanager
def chromium() -> Iterator[Any]:
    """Chromium, without a window; ``CHROMIUM`` in the environment says where it is."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", CHROMIUM),
            args=["--no-sandbox", "--disable-gpu"],
        )
        yield browser
        browser.close()
