"""A run is resumed with what its model was made with, as a user makes models."""

import functools
import sqlite3
import subprocess
import sys
import warnings

import mesa
import numpy as np
import pytest
from mesa.experimental.scenarios import Scenario
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import (
    EpisodicMemory,
    MesaMemoryError,
    Recording,
    configure,
    fork,
    open_run,
    register_policy,
    resume,
)
from mesa_memory.errors import MemoryMismatch
from tests.support.playing import ended, play
from tests.support.street import Neighbour


def talk(turn):
    return "I greet my neighbour."


class Street(mesa.Model):
    """README's own, recorded."""

    file = "run.sqlite"

    def __init__(self, n=3, rng=None):
        super().__init__(rng=rng)
        configure(self, llm="offline", record=self.file)
        for _ in range(n):
            agent = Neighbour(self, CoTReasoning, register_policy("talk", talk))
            agent.memory = EpisodicMemory(agent)
        self.born_with = [self.random.random(), float(self.rng.random())]

    def step(self):
        self.agents.shuffle_do("step")


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def stopped(model, steps=2):
    """The model after some steps, its recording closed."""
    return play(model, steps)


def lines(agents):
    return [agent.memory.get_prompt_ready() for agent in agents]


def test_readmes_own_model_is_resumed_as_it_stands(monkeypatch):
    whole = stopped(Street(n=4, rng=1), 4)
    told = lines(whole.agents)
    monkeypatch.setattr(Street, "file", "cut.sqlite")
    stopped(Street(n=4, rng=1), 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        again = stopped(resume(Street, "cut.sqlite"), 2)
    assert len(again.agents) == 4
    assert lines(again.agents) == told
    assert again.born_with == whole.born_with
    with open_run("cut.sqlite") as run:
        assert run.parameters == {"n": 4, "rng": 1}


def test_any_seed_of_mesa_makes_the_same_world_again():
    cases = [
        None,
        7,
        [3, 1, 4],
        lambda: np.random.SeedSequence(2**100, spawn_key=(3,)),
        lambda: np.random.default_rng(5),
        lambda: np.random.Generator(np.random.MT19937(5)),
        lambda: np.random.Generator(np.random.Philox(5)),
        lambda: np.random.SFC64(5),
        lambda: advanced(np.random.default_rng(5)),
    ]
    for rng in cases:
        first = stopped(Street(rng=rng() if callable(rng) else rng))
        again = resume(Street, "run.sqlite")
        assert again.born_with == first.born_with
        for mine, its in ((again.random, first.random), (again.rng, first.rng)):
            assert mine.random() == its.random()
        ended(again)


def advanced(rng):
    rng.random(3)
    return rng


class Plan(Scenario):
    houses: int = 3
    names: tuple = ("a", "b")


class Planned(mesa.Model):
    def __init__(self, scenario=None):
        scenario = Plan() if scenario is None else scenario
        super().__init__(scenario=scenario)
        configure(self, llm="offline", record="run.sqlite")
        self.born_with = self.random.random()


@pytest.mark.parametrize("scenario", [None, lambda: Plan(rng=4, houses=8)])
def test_a_scenario_of_mesa_is_asked_for_again(scenario):
    with pytest.warns(UserWarning, match=r"scenario \(an object \(Plan\)"):
        first = stopped(Planned(scenario and scenario()))
    with pytest.raises(MesaMemoryError, match=r"resume\(Planned, file, scenario=…\)"):
        resume(Planned, "run.sqlite")
    again = resume(lambda: Planned(Plan(rng=4, houses=8)), "run.sqlite")
    assert again.scenario.houses == 8
    assert again.random.random() == first.random.random()
    if scenario:
        assert again.born_with == first.born_with
    ended(again)


class Town(Street):
    """Arguments of every kind, down an inheritance chain, and none is an attribute."""

    def __init__(self, city, /, width=2, *sizes, tax=1, **more):
        width = width * 10  # what was given counts, not what became of it
        super().__init__(**more)
        self.got = (city, width, sizes, tax, more)


def test_arguments_without_a_name_are_given_by_a_function():
    with pytest.warns(UserWarning, match=r"city \(an object .*sizes \(an object"):
        first = stopped(Town("Ulm", 5, 6, (7, 8), tax=2.5, n=1, rng=3))
    with pytest.raises(MesaMemoryError, match=r"resume\(lambda: Town\(…\)") as error:
        resume(Town, "run.sqlite")
    assert error.value.names == ("city", "sizes")
    again = resume(lambda: Town("Ulm", 5, 6, (7, 8), tax=2.5, n=1, rng=3), "run.sqlite")
    assert again.got == first.got
    ended(again)


class Plain(mesa.Model):
    """Knows nothing of being recorded; agents come from the user's script."""

    def __init__(self, n, greed=0.1, rng=None):
        super().__init__(rng=rng)
        self.people = n
        self.greed = greed


def test_a_model_that_is_recorded_after_it_was_made_is_known_as_well():
    model = Plain(6, greed=0.4, rng=2)
    configure(model, llm="offline", record="run.sqlite")
    stopped(model)
    again = resume(Plain, "run.sqlite")
    assert (again.people, again.greed) == (6, 0.4)
    ended(again)


@pytest.mark.slow
def test_a_model_that_was_made_before_the_package_was_imported_says_what_is_unknown(
    tmp_path,
):
    code = """
import mesa
class Town(mesa.Model):
    def __init__(self, n, tax=1, rng=None):
        super().__init__(rng=rng)
        self.n, self.tax, self.born_with = n, tax, self.random.random()
town = Town(3)
import warnings
from mesa_memory import Services, configure, open_run, resume
from mesa_memory.errors import ParameterError
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always", UserWarning)
    configure(town, llm="offline", record="run.sqlite")
(said,) = [each for each in told if each.category is UserWarning]
assert "n (the model was made before mesa_memory was imported" in str(said.message)
assert "resume(Town, file, n=…, tax=…)" in str(said.message)
assert said.filename == __file__, said.filename
town.step()
Services.of(town).recorder.close()
try:
    resume(Town, "run.sqlite")
except ParameterError as error:
    assert error.names == ("n", "tax"), error.names
else:
    raise AssertionError("n and tax are not known")
again = resume(Town, "run.sqlite", n=3, tax=1)
assert again.born_with == town.born_with
Services.of(again).recorder.close()
# From now on the package is there, and knows.
configure(Town(5, rng=1), llm="offline", record="run.sqlite")
assert open_run("run.sqlite").parameters == {"n": 5, "tax": 1, "rng": 1}
"""
    script = tmp_path / "script.py"
    script.write_text(code, encoding="utf-8")
    subprocess.run([sys.executable, script], check=True, timeout=600)


class Greedy(mesa.Model):
    def __init__(self, greed=0.1, tax=1, rng=None):
        super().__init__(rng=rng)
        configure(self, llm="offline", record="run.sqlite")
        self.greed = greed  # after configure
        self.rate = tax


@pytest.mark.parametrize("steps", [0, 1])
def test_a_fork_keeps_its_own_parameters(steps):
    stopped(Greedy(tax=2, rng=1))
    stopped(fork(Greedy, "run.sqlite", tax=9), steps)
    with open_run("run.sqlite") as run:
        assert run.parameters["tax"] == 9
        assert run.parameters["rng"] == 1
    again = resume(Greedy, "run.sqlite")
    assert again.rate == 9
    ended(again)
    with open_run("run.sqlite", 1) as run:
        assert run.parameters["tax"] == 2


class Odd(mesa.Model):
    def __init__(self, tool, n=2, rng=None):
        super().__init__(rng=rng)
        configure(self, llm="offline", record="run.sqlite")
        self.tool, self.n = tool, n


def test_what_cannot_be_recorded_is_said_at_the_beginning_and_asked_for_again():
    tool = object()
    with pytest.warns(
        UserWarning, match=r"tool \(an object.*resume\(Odd, file, tool=…"
    ):
        model = Odd(tool, n=5)
    stopped(model)
    with pytest.raises(MesaMemoryError, match=r"resume\(Odd, file, tool=…\)") as error:
        resume(Odd, "run.sqlite")
    assert isinstance(error.value, ValueError)
    assert error.value.names == ("tool",)
    with open_run("run.sqlite") as run:
        assert run.steps == [1, 2], "nothing was cut"
        assert run.parameters["tool"] == "[not recorded: object]"
    with pytest.warns(UserWarning, match="tool"):
        again = resume(Odd, "run.sqlite", tool=tool)
    assert (again.tool, again.n) == (tool, 5)
    ended(again)


def test_functions_that_make_the_model_may_say_arguments_themselves():
    tool = object()
    with pytest.warns(UserWarning):
        stopped(Odd(tool, n=5))
    by_name = functools.partial(Odd, tool=tool)
    for make in (lambda: Odd(tool, 5), by_name, lambda n: Odd(tool, n)):
        with pytest.warns(UserWarning):
            again = resume(make, "run.sqlite")
        assert (again.tool, again.n) == (tool, 5)
        ended(again)


class Recorded(mesa.Model):
    def __init__(self, record, n=2):
        super().__init__()
        configure(self, llm="offline", record=record)
        self.n = n


@pytest.mark.parametrize("kind", ["text", "path", "recording"])
def test_where_a_run_is_recorded_need_not_be_said_twice(kind, tmp_path):
    file = tmp_path / "run.sqlite"
    record = {"text": str(file), "path": file, "recording": Recording(file, name="x")}
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        stopped(Recorded(record[kind], n=7))
        moved = tmp_path / "moved.sqlite"
        with sqlite3.connect(file) as old, sqlite3.connect(moved) as new:
            old.backup(new)
        again = resume(Recorded, moved)
    assert again.n == 7
    stopped(again, 1)
    with open_run(moved) as run, open_run(file) as old:
        assert (run.steps, old.steps) == ([1, 2, 3], [1, 2])


class Square(mesa.Model):
    """Another model, that takes other arguments."""

    def __init__(self, houses=3, rng=None):
        super().__init__(rng=rng)


class Lane(mesa.Model):
    """Another model with the arguments of a street; nobody lives there."""

    def __init__(self, n=3, rng=None):
        super().__init__(rng=rng)
        configure(self, llm="offline", record=Street.file)


@pytest.mark.parametrize("again", [resume, fork])
def test_another_class_than_that_of_the_run_is_named_beside_it(again):
    stopped(Street(n=2, rng=1))
    with pytest.raises(TypeError, match="unexpected keyword argument 'n'") as told:
        again(Square, "run.sqlite")
    assert "Street', and Square was given" in told.value.__notes__[0]
    said = r"agents .'1', '2'., which the new"
    with pytest.raises(MemoryMismatch, match=said) as told:
        again(Lane, "run.sqlite")
    (note,) = told.value.__notes__
    assert "Street', and Lane was given" in note
    said = r"class comes first .* got 'run.sqlite' and <cl"
    with pytest.raises(TypeError, match=said):
        again("run.sqlite", Street)
    stopped(again(Street, "run.sqlite"), 1)  # the file is as it was, and in no use
    assert open_run("run.sqlite").steps == [1, 2, 3]
