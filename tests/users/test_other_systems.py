"""Systems that do not fork and have no Unix sockets, such as Windows, can do all of it."""

import subprocess
import sys

import pytest

from tests.support.openai_server import OpenAIServer

pytestmark = pytest.mark.slow
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


@pytest.fixture
def server():
    with OpenAIServer() as started:
        yield started


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
