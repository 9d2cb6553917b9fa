"""README's model touches no network, and no user's program waits for one."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
#: notes whom a program looks for outside this machine, and lets nobody be found
GUARD = """
import socket
from tests.support.network import guards
asked = []
socket.socket.connect, socket.getaddrinfo = guards(asked)
"""


def run(program):
    """A program in an environment in which nobody has set anything for litellm."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("LITELLM")}
    done = subprocess.run(
        [sys.executable, "-c", f"{GUARD}\n{program}\nprint('ASKED', asked)"],
        env=clean, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout + done.stderr


@pytest.mark.slow
def test_readmes_model_asks_nobody_and_says_nothing_of_a_network():
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    (model,) = [block for block in blocks if "class Street" in block]
    said = run(model)
    assert "ASKED []" in said
    assert "price list" not in said and "cost map" not in said


@pytest.mark.slow
def test_a_program_that_loads_litellm_first_is_told_how_not_to_wait():
    said = run("from mesa_llm.llm_agent import LLMAgent\nimport mesa_memory")
    assert "ASKED []" not in said, "who comes too late cannot keep litellm from asking"
    assert "import mesa_memory before mesa_llm" in said
    assert "LITELLM_LOCAL_MODEL_COST_MAP=True" in said
