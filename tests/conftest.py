"""Every test has a provider's key; the package is imported before any other."""

import gc
import os
import sys

import pytest

import mesa_memory  # noqa: F401 - first, as README says

# Else each of the programs that tests start would compile all it imports anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

#: files that open a browser or show what it shows
VIEWS = "tests/viz/"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """All tests run in two processes; for some, a second one is not worth its start.

    Slow tests wait for processes of their own, so that a third one finds time.
    """
    if config.args_source is not config.ArgsSource.TESTPATHS:
        return 0
    return 3 if config.option.markexpr == "slow" else 2


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """A file stays in one process; so do all views, lest two browsers compete."""
    from xdist.scheduler import LoadFileScheduling

    class Files(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = super()._split_scope(nodeid)
            return VIEWS if file.startswith(VIEWS) else file

    return Files(config, log) if config.option.dist == "loadfile" else None


def pytest_collection_finish():
    """What is loaded by now stays; a collection need not go through a million objects."""
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def _loaded():
    """What a file leaves behind stays, too: later collections pass it over."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _tasks():
    """A task that a test defines is gone after it."""
    from mesa_memory.tasks import base

    before = dict(base._tasks)
    yield
    base._tasks.clear()
    base._tasks.update(before)


@pytest.fixture(autouse=True)
def _provider_key(monkeypatch):
    """Mesa-LLM asks for a key when an agent is made; nothing is ever sent with it."""
    monkeypatch.setenv("OPENAI_API_KEY", "test")
