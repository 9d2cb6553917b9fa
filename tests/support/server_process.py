"""The local server as a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

from tests.support.waiting import HUNG

MODULE = "tests.support.openai_server"
ROOT = Path(__file__).resolve().parents[2]


class ServerProcess:
    """The server as a process of its own, so that it competes for no lock."""

    def __init__(self, latency: float = 0.0) -> None:
        """Prepares a server with this latency that ``with`` starts and stops."""
        self.latency = latency

    def __enter__(self) -> "ServerProcess":
        """Starts the process and waits until it listens."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", MODULE, "--latency", str(self.latency)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.base = self._process.stdout.readline().strip()
        if not self.base:
            self._process.communicate()
            raise RuntimeError("the server process did not start")
        return self

    def __exit__(self, *_: object) -> None:
        """Closes the input of the process, at which it ends."""
        try:
            self._process.communicate(timeout=HUNG)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()

    def stats(self) -> dict[str, int]:
        """Returns the counts of the server."""
        return self._call("stats")

    def reset(self) -> None:
        """Starts the counts again."""
        self._call("clear")

    def _call(self, word: str) -> dict[str, int]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())
