"""README's model touches no network, and a user's program runs on any system."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
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


def test_readmes_model_asks_nobody_and_says_nothing_of_a_network():
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    (model,) = [block for block in blocks if "class Street" in block]
    said = run(model)
    assert "ASKED []" in said
    assert "price list" not in said and "cost map" not in said


def test_a_program_that_loads_litellm_first_is_told_how_not_to_wait():
    said = run("from mesa_llm.llm_agent import LLMAgent\nimport mesa_memory")
    assert "ASKED []" not in said, "who comes too late cannot keep litellm from asking"
    assert "import mesa_memory before mesa_llm" in said
    assert "LITELLM_LOCAL_MODEL_COST_MAP=True" in said


# -- systems that do not fork and have no Unix sockets, such as Windows ----------------

#: takes away what only Unix has, before anything of ours is loaded; other packages, which
#: ask for the system's name instead, are loaded with it
WITHOUT = """
import asyncio, os, sys
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm, mesa_llm, solara, uvicorn
for name in ("fork", "register_at_fork", "getuid", "sched_getaffinity"):
    delattr(os, name)
for name in ("open_unix_connection", "start_unix_server"):
    delattr(asyncio, name)
for name in ("fcntl", "pwd", "grp", "resource", "termios"):
    sys.modules[name] = None
"""
#: a model that asks, is recorded, and is studied
RUN = """
from mesa_memory import open_run
from mesa_memory.experiments import Study
from tests.support.studied import PaidStreet

study = Study(PaidStreet, {factors!r}, seeds=range(2), steps=3, store={store!r})
print(study.run("serial", progress=False).counts["finished"])
with open_run({store!r}, 1) as run:
    print(len(run.steps), len(run.calls()) > 0)
"""


def printed(program):
    """What a program prints that has only what every system has."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WITHOUT + program],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_study_that_asks_a_provider_is_recorded(tmp_path, server):
    factors = {"base": server.base, "client": ["direct", "litellm"]}
    run = RUN.format(factors=factors, store=str(tmp_path / "study.sqlite"))
    assert printed(run).split() == ["4", "3", "True"]


def test_the_page_and_the_command_line_can_be_loaded():
    load = "import mesa_memory.cli.__main__, mesa_memory.viz.explorer, mesa_memory.viz.live.page_runs"
    assert printed(load) == ""
