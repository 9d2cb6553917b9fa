"""Any path that takes a record gives it back: to replay, resume, fork, read and copy."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from mesa_memory import carry_over, fork, open_run, resume
from mesa_memory.cli import main
from mesa_memory.errors import StoreUnavailable
from mesa_memory.experiments import Study
from mesa_memory.stores.copying import copy_file
from mesa_memory.stores.open import split_run
from mesa_memory.viz import explorer
from tests.support.hamlet import Hamlet
from tests.support.playing import ended, lived
from tests.support.turns import in_turn

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


@pytest.fixture
def form(tmp_path, monkeypatch):
    """Makes the folder of a place; it is given as a path and as a relative text in turn."""
    monkeypatch.chdir(tmp_path)

    def made(place):
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        return path if PLACES.index(place) % 2 else place

    return made


@in_turn(quick=3, place=PLACES)
def test_a_record_is_found_again_wherever_it_is(place, form):
    file = form(place)
    town = lived(Hamlet(record=file))
    text = town.agents[0].memory.get_prompt_ready()
    ended(town)
    assert Path(place).is_file()
    again = lived(Hamlet(replay=file))
    assert again.agents[0].memory.get_prompt_ready() == text
    assert lived(Hamlet(replay=f"{file}#1")).steps == 2
    assert ended(lived(resume(Hamlet, file), 1)) == 1
    assert ended(lived(fork(Hamlet, file, 2), 1)) == 2
    for address in (file, f"sqlite:///{Path(place).absolute()}"):
        with open_run(address, 1) as run:
            assert run.steps == [1, 2, 3]
    assert carry_over(f"{file}#1", Hamlet().agents[0])


@in_turn(quick=3, place=PLACES)
def test_the_command_line_and_the_dashboard_find_it(place, form):
    file = form(place)
    ended(lived(Hamlet(record=file)))
    ended(lived(Hamlet(record=file)))
    for given, number in ((f"{file}", 2), (f"{file}#1", 1)):
        said = CliRunner().invoke(main, ["inspect", given])
        assert said.exit_code == 0, said.output
        (feed,) = explorer.open_feeds([split_run(given)])
        assert feed.run.id == number
        feed.close()
    assert copy_file(file, "copy.sqlite").is_file()


def test_only_a_number_after_an_address_is_a_run():
    plain = "postgresql+psycopg://u:p@host/runs"
    marked = plain.replace(":p", ":p#4")
    cases = [
        (f"{plain}#3", plain, "3"),
        (marked, None, None),
        (f"{marked}#12", marked, "12"),
        ("postgresql://u:a%23b%3F@host/runs?options=-csearch_path%3Dname", None, None),
        ("missing #1/missing.sqlite", None, None),
        ("missing.sqlite#2", "missing.sqlite", "2"),
        ("#3", None, None),
    ]
    for given, store, run in cases:
        assert split_run(given) == (store or given, run)


def test_a_name_after_a_file_is_a_run(tmp_path):
    file = tmp_path / "C#.sqlite"
    ended(lived(Hamlet(record=file)))
    assert split_run(f"{file}#short, seed 0/#2") == (str(file), "short, seed 0/#2")
    assert split_run(f"sqlite:///{file}#1") == (f"sqlite:///{file}", "1")
    with pytest.raises(ValueError, match="not have run 'first'"):
        Hamlet(replay=f"{file}#first")


@pytest.mark.parametrize("odd", [True, 3, b"run.sqlite", ["run.sqlite"]])
def test_a_replay_of_something_else_is_a_type_error(odd):
    with pytest.raises(TypeError, match=r"replay='run\.sqlite'"):
        Hamlet(replay=odd)


@pytest.mark.parametrize(
    "uses",
    [
        lambda file: resume(Hamlet, file),
        lambda file: fork(Hamlet, file, 3),
        lambda file: open_run(file),
        lambda file: carry_over(file, Hamlet().agents[0]),
        lambda file: Hamlet(replay=file),
        lambda file: copy_file(file, f"{file}.copy"),
        lambda file: Study(Hamlet, steps=1, store=file).results(),
        lambda file: Study(Hamlet, steps=1, store=file).archive(f"{file}.sealed"),
    ],
)
def test_a_misspelt_path_is_told_and_nothing_is_made(uses, tmp_path):
    with pytest.raises(StoreUnavailable, match=r"misspelt.*the file does not exist"):
        uses(str(tmp_path / "misspelt.sqlite"))
    assert list(tmp_path.iterdir()) == []
