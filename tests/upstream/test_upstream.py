"""Mesa-LLM's own tests of its memories, run with ours in place of theirs."""

import ast
import json
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.support.missing import kept, missing
from tests.upstream import runner

TABLE = json.loads((Path(runner.__file__).parent / "expected.json").read_text())
EXPECTED = {test: told for section in TABLE.values() for test, told in section.items()}

# The first test downloads (once for each cache) and imports litellm in a new process.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, pytestconfig):
    """Mesa-LLM's tests, ready to run; a CI run must not go without them."""
    if version("mesa-llm") != runner.VERSION:
        pytest.skip(f"the table is for Mesa-LLM {runner.VERSION}")
    here = tmp_path_factory.mktemp("upstream")
    try:
        cache = kept(pytestconfig, "mesa-llm", tmp_path_factory)
        return runner.unpack(runner.sdist(cache), here)
    except runner.NotAvailable as reason:
        missing(reason)


@pytest.fixture(scope="module")
def result(folder):
    """The outcome of all of them, in one run."""
    return runner.run(folder)


def test_every_module_got_our_classes(result):
    assert result.strangers == []


def test_the_table_lists_exactly_the_tests_there_are(result):
    assert sorted(result.outcomes) == sorted(EXPECTED)


def test_each_test_ends_as_the_table_says(result):
    surprises = {
        test: f"table: {EXPECTED.get(test)!r}; outcome: {outcome} {said}"
        for test, (outcome, said) in result.outcomes.items()
        if (outcome == "passed") != (EXPECTED.get(test) == "pass")
    }
    assert surprises == {}


def test_tests_that_touch_none_of_our_classes_are_listed_as_such_and_all_pass(result):
    untouched = set(result.outcomes) - result.touching
    assert untouched == set(TABLE["outside"])
    assert {result.outcomes[test][0] for test in untouched} == {"passed"}


def test_tests_listed_as_private_do_name_that_member_of_a_memory(folder):
    for test, told in TABLE["private"].items():
        file, *_, name = test.split("::")
        function = _function(folder / file, name)
        assert f"memory.{told.removeprefix('private: ')}" in function


def test_the_public_exceptions_want_other_words_or_a_request_for_each_event():
    told = {test: told for test, told in TABLE["public"].items() if told != "pass"}
    kinds = [kind.partition(": ")[0] for kind in told.values()]
    assert sorted(kinds) == ["defect", *["words"] * 5]
    defect = next(test for test in told if told[test].startswith("defect"))
    assert "test_async_add_memory_entry" in defect


def test_agents_of_a_configured_model_pass_the_same_tests_of_mesa_llm(folder):
    plain = runner.run(folder, "report_outcomes", runner.ASKING)
    covered = runner.run(folder, "cover_agents", runner.ASKING)
    assert len(plain.outcomes) > 100
    assert covered.outcomes == plain.outcomes
    assert covered.touching, "agents asked through the services"


def _function(path: Path, name: str) -> str:
    source = path.read_text(encoding="utf-8")
    nodes = ast.walk(ast.parse(source))
    found = next(node for node in nodes if getattr(node, "name", None) == name)
    return ast.unparse(found)
