"""Every test has a provider's key; the package is imported before any other."""

import gc
import os
import sys

import pytest

import mesa_memory  # noqa: F401 - first, as README says
from tests.support.network import elsewhere  # noqa: F401 - guards every test
from tests.support.postgres import postgres  # noqa: F401 - a fixture

# Else each of the programs that tests start would compile all it imports anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

#: files that open a browser or show what it shows
VIEWS = "tests/viz/"
#: files whose slow tests take longest, in this order: what is begun last ends last
LONGEST = (
    VIEWS, "tests/experiments/test_trust_market.py", "tests/docs/test_docs.py",
    "tests/experiments/test_study_workers.py", "tests/experiments/test_audit_axes.py",
    "tests/experiments/test_study_mpi.py", "tests/experiments/test_naming_game.py",
    "tests/experiments/test_study_killed.py", "tests/experiments/test_study_shards.py",
    "tests/statistics/test_difference.py", "tests/users/test_whole_way.py",
    "tests/experiments/test_arms_apart.py", "tests/runs/test_lives.py",
)  # fmt: skip


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
    """A file stays in one process; so do all views, lest too many browsers compete."""
    from xdist.scheduler import LoadFileScheduling

    class Files(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = super()._split_scope(nodeid)
            # Slow ones are too many for one process: they have two browsers.
            late = config.option.markexpr == "slow" and file > f"{VIEWS}test_viz_e"
            return f"{VIEWS}{late}" if file.startswith(VIEWS) else file

        def _reschedule(self, node):
            """A process takes the next file with its last test, not two before it."""
            if node.shutting_down:
                return
            if not self.workqueue:
                node.shutdown()
            elif self._pending_of(self.assigned_work[node]) < 2:
                self._assign_work_unit(node)

    return Files(config, log) if config.option.dist == "loadfile" else None


def pytest_collection_modifyitems(items):
    """Files with long tests come first."""
    places = {name: place for place, name in enumerate(LONGEST)}

    def place(item):
        file = item.nodeid.partition("::")[0]
        return places.get(VIEWS if file.startswith(VIEWS) else file, len(places))

    items.sort(key=place)


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


@pytest.fixture
def server():
    """A provider on this machine, which gives plausible answers."""
    from tests.support.openai_server import OpenAIServer

    with OpenAIServer() as server:
        yield server
