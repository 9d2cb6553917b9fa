"""With a cache, each seed of a study has answers of its own, and none is asked twice."""

import pytest

from mesa_memory.experiments import Study
from tests.support.behaviours import Behaviour, always, sequence
from tests.support.choosers import Choice, SeededChoice, chance_server, choices
from tests.support.study_results import run


@pytest.fixture
def server():
    with chance_server() as server:
        yield server


def study(folder, server, name="s", model=Choice, factors=None, **given):
    chosen = {"base": [server.base], "cache": [str(folder / "cache.sqlite")]}
    given = {"seeds": range(8), "steps": 2} | given
    return Study(model, chosen | (factors or {}), outcomes={"choices": choices},
                 store=folder / f"{name}.sqlite", **given)  # fmt: skip


def said(study, executor="serial"):
    assert run(study, executor).finished
    return list(study.results().runs["choices"])


@pytest.mark.parametrize("given", [
    {}, {"record": False}, {"model": SeededChoice},
    {"factors": {"rng": range(8)}, "seeds": [None]}, {"seeds": [None], "replicates": 8},
    {"factors": {"n": [1], "asks": [4]}}, {"factors": {"n": [4]}, "steps": 1},
], ids=str)  # fmt: skip
def test_seeds_agents_steps_and_repeats_have_answers_of_their_own(
    tmp_path, server, given
):
    first = said(study(tmp_path, server, **given))
    asked = len(server.log)
    assert asked == sum(map(len, first)), "each question is asked"
    assert len(set(first)) > 2 and any(len(set(each)) == 2 for each in first)
    assert said(study(tmp_path, server, "again", **given)) == first
    assert len(server.log) == asked, "a second run of the study sends nothing"


def test_arms_of_one_seed_and_replicate_share_their_answers(tmp_path, server):
    given = {"seeds": range(3), "replicates": 2}
    told = said(study(tmp_path, server, factors={"arm": ["a", "b"]}, **given))
    assert told[:6] == told[6:]
    assert len(server.log) == sum(map(len, told)) / 2


def test_workers_and_threads_find_the_same_answers(tmp_path, server):
    first, asked = said(study(tmp_path, server, seeds=range(2))), len(server.log)
    assert said(study(tmp_path, server, "apart", seeds=range(2)), 1) == first
    assert len(server.log) == asked


def test_an_answer_that_is_not_cached_takes_no_number(tmp_path, server):
    """A cut-off reply is not cached: the second run asks for it, and for nothing else."""
    given = {"seeds": [1], "steps": 1, "factors": {"n": [1], "asks": [3]}}
    cut, whole = Behaviour.text("D", "length"), Behaviour.text("C")
    server.behave = sequence(cut, whole, whole)
    assert said(study(tmp_path, server, **given)) == ["DCC"]
    server.behave = always(Behaviour.text("E"))
    assert said(study(tmp_path, server, "again", **given)) == ["CCE"]
    assert len(server.log) == 4
