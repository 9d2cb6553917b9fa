"""The pre-release of Mesa 4, in an environment of its own."""

import os
import sys
from pathlib import Path

import pytest

from tests.support import environments
from tests.support.missing import kept

HERE = Path(__file__).parents[1]
#: the pre-release that the tests were last run with
MESA = "mesa[rec]==4.0.0a0"
OURS = ("mesa", "mesa-llm")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def python(pytestconfig, tmp_path_factory):
    place = kept(pytestconfig, "mesa-4", tmp_path_factory)
    wanted = [*environments.needs(without=OURS), MESA, *environments.TESTING]
    return environments.make(place, wanted, environments.tested(without=OURS))


def test_all_holds_with_the_pre_release_of_mesa_4(python):
    coming = HERE / "support" / "coming"
    file = HERE / "upstream" / "with_mesa_4.py"
    path = (coming, environments.ROOT)
    assert environments.run_pytest(python, file, path=path) == ""


@pytest.mark.parametrize("name", ["mesa_4", "scenarios"])
def test_all_holds_with_a_checkout_of_mesa(tmp_path, name):
    if "MESA_NEXT" not in os.environ:
        pytest.skip("MESA_NEXT names no checkout of Mesa's main branch")
    (tmp_path / "mesa").symlink_to(Path(os.environ["MESA_NEXT"], "mesa").resolve())
    path = (tmp_path, HERE / "support" / "coming", environments.ROOT)
    # In processes of their own: run_scenarios forks, and the other file has threads.
    file = HERE / "upstream" / f"with_{name}.py"
    assert environments.run_pytest(sys.executable, file, path=path) == ""


def test_all_holds_with_the_coming_mesa_llm_on_mesa_4(python):
    coming = HERE / "support" / "coming"
    file = HERE / "upstream" / "with_coming_mesa_llm.py"
    path = (coming, environments.ROOT)
    assert environments.run_pytest(python, file, path=path) == ""
