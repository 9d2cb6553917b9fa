"""Any path that takes a record gives it back: to replay, resume, fork, read and copy."""

from pathlib import Path

import mesa
import pytest
from click.testing import CliRunner
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import (
    STLTMemory,
    carry_over,
    configure,
    fork,
    open_run,
    register_policy,
    resume,
)
from mesa_memory.cli import main
from mesa_memory.errors import StoreUnavailable
from mesa_memory.experiments import Study
from mesa_memory.stores.copying import copy_file
from mesa_memory.stores.open import split_run
from mesa_memory.viz import explorer
from tests.support.playing import ended, lived

PLACES = [
    "C# and F#/run.sqlite",
    "run #2.sqlite",
    "run.sqlite#3",
    "why?/what?mode=ro.sqlite",
    "100% sure/50%25 %20.sqlite",
    "Große Läufe/实验 ١.sqlite",
    'it\'s "quoted" & [1]/a+b=c;d.sqlite',
    "postgres.sqlite",
    "postgresql runs/run.db",
]


class Town(mesa.Model):
    """One person, who is told the day."""

    def __init__(self, record=None, replay=None, cache=None, rng=1):
        super().__init__(rng=rng)
        given = {} if cache is None else {"cache": cache}
        configure(self, llm="offline", record=record, replay=replay, **given)
        quiet = register_policy("quiet", lambda turn: "Nothing.")
        self.ann = LLMAgent(self, CoTReasoning, quiet)
        self.ann.memory = STLTMemory(self.ann)

    def step(self):
        said = {"message": f"day {self.steps}: the mill is open", "sender": 2}
        self.ann.memory.add_to_memory("message", said)
        self.ann.memory.process_step()


def days(model):
    return model.steps


@pytest.fixture(params=["absolute path", "relative text"])
def form(request, tmp_path, monkeypatch):
    """How a place is given; the folder is made."""
    monkeypatch.chdir(tmp_path)

    def made(place):
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        return path if request.param == "absolute path" else place

    return made


@pytest.mark.parametrize("place", PLACES)
def test_a_record_is_found_again_wherever_it_is(place, form):
    file = form(place)
    town = lived(Town(file))
    text = town.ann.memory.get_prompt_ready()
    ended(town)
    assert Path(place).is_file()
    again = lived(Town(replay=file))
    assert again.ann.memory.get_prompt_ready() == text
    assert lived(Town(replay=f"{file}#1")).steps == 2
    assert ended(lived(resume(Town, file), 1)) == 1
    assert ended(lived(fork(Town, file, 2), 1)) == 2
    with open_run(file, 1) as run:
        assert run.steps == [1, 2, 3]
    assert carry_over(file, Town().ann, run=1)


@pytest.mark.parametrize("place", PLACES)
def test_the_command_line_and_the_dashboard_find_it(place, form):
    file = form(place)
    ended(lived(Town(file)))
    ended(lived(Town(file)))
    for given, number in ((f"{file}", 2), (f"{file}#1", 1)):
        said = CliRunner().invoke(main, ["inspect", given])
        assert said.exit_code == 0, said.output
        (feed,) = explorer.open_feeds([split_run(given)])
        assert feed.run.id == number
        feed.close()
    assert copy_file(file, "copy.sqlite").is_file()


@pytest.mark.parametrize("place", PLACES)
def test_answers_and_studies_are_kept_there(place, form):
    file = form(place)
    lived(Town(cache=file))
    assert Path(place).is_file()
    Path(place).unlink()
    study = Study(Town, seeds=[1], steps=2, measures={"days": days}, store=file)
    assert study.run("serial", progress=False).finished
    assert Path(place).is_file()
    again = Study(Town, seeds=[1], steps=2, measures={"days": days}, store=file)
    assert again.run("serial", progress=False).finished


def test_only_a_number_after_an_address_is_a_run():
    cases = [
        (
            "postgresql+psycopg://u:p@host/runs#3",
            "postgresql+psycopg://u:p@host/runs",
            "3",
        ),
        ("postgresql+psycopg://u:p#4@host/runs", None, None),
        (
            "postgresql+psycopg://u:p#4@host/runs#12",
            "postgresql+psycopg://u:p#4@host/runs",
            "12",
        ),
        ("postgresql://u:a%23b%3F@host/runs?options=-csearch_path%3Dname", None, None),
        ("missing #1/missing.sqlite", None, None),
        ("missing.sqlite#2", "missing.sqlite", "2"),
        ("#3", None, None),
    ]
    for given, store, run in cases:
        assert split_run(given) == (store or given, run)


def test_a_name_after_a_file_is_a_run(tmp_path):
    file = tmp_path / "C#.sqlite"
    ended(lived(Town(file)))
    assert split_run(f"{file}#short, seed 0/#2") == (str(file), "short, seed 0/#2")
    assert split_run(f"sqlite:///{file}#1") == (f"sqlite:///{file}", "1")
    with pytest.raises(ValueError, match="not have run 'first'"):
        Town(replay=f"{file}#first")


@pytest.mark.parametrize("odd", [True, 3, b"run.sqlite", ["run.sqlite"]])
def test_a_replay_of_something_else_is_a_type_error(odd):
    with pytest.raises(TypeError, match=r"replay='run\.sqlite'"):
        Town(replay=odd)


@pytest.mark.parametrize(
    "uses",
    [
        lambda file: resume(Town, file),
        lambda file: fork(Town, file, 3),
        lambda file: open_run(file),
        lambda file: carry_over(file, Town().ann),
        lambda file: Town(replay=file),
        lambda file: copy_file(file, f"{file}.copy"),
        lambda file: Study(Town, steps=1, store=file).results(),
        lambda file: Study(Town, steps=1, store=file).archive(f"{file}.sealed"),
    ],
)
def test_a_misspelt_path_is_told_and_nothing_is_made(uses, tmp_path):
    with pytest.raises(StoreUnavailable, match=r"misspelt.*the file does not exist"):
        uses(str(tmp_path / "misspelt.sqlite"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["inspect", "dashboard", "cost"])
def test_a_misspelt_path_in_a_command_is_told_and_nothing_is_made(command, tmp_path):
    found = CliRunner().invoke(main, [command, str(tmp_path / "misspelt.sqlite")])
    assert found.exit_code == 2 and "the file does not exist" in found.output
    assert list(tmp_path.iterdir()) == []
