"""A study as a sealed folder, with and without what was said in it."""

import json
import shutil
import sqlite3

import mesa
import pandas as pd
import pytest
from click.testing import CliRunner
from mesa_llm.llm_agent import LLMAgent

from mesa_memory import configure, register_policy
from mesa_memory.cli import main
from mesa_memory.errors import StudyError
from mesa_memory.experiments import Question, Questionnaire, Study, verify
from mesa_memory.experiments.reports.archive import SEAL, TABLES
from mesa_memory.memories import registry
from mesa_memory.stores.open import open_store
from tests.experiments.test_attribution import SECRET, Valley, fords
from tests.support.single import settle
from tests.support.study_results import run


def valley(store):
    """A study in which a secret is remembered, asked, and said."""
    return Study(
        Valley, {"planted": [True, False], "n": 2}, seeds=range(2), steps=2,
        outcomes={"fords": fords}, store=store,
    )  # fmt: skip


#: stands in whatever an agent or a model says
CANARY = "quagmire-canary"


class Bird(LLMAgent):
    """Sees, hears and says the canary, also as somebody that the model does not have."""

    def step(self):
        self.memory.add_to_memory("observation", {"sight": f"a {CANARY} at the well"})
        stranger = {"message": f"I sold the {CANARY}.", "sender": f"{CANARY} of Ur"}
        self.memory.add_to_memory("message", stranger)
        self.memory.get_prompt_ready()
        self.said = self.llm.generate(prompt="Say.").choices[0].message.content
        self.send_message(self.said, [a for a in self.model.agents if a is not self])
        self.heard += 1


class Aviary(mesa.Model):
    """Birds of one song, which a DataCollector collects."""

    def __init__(self, memory="short_term", broken=False, rng=None):
        super().__init__(rng=rng)
        configure(self, llm="offline")
        self.broken = broken
        singing = register_policy("singer", lambda turn: f"The {CANARY} lives.")
        for bird in settle(self, registry.find(memory), 2, Bird, singing):
            bird.said, bird.heard = "", 0
        self.datacollector = mesa.DataCollector(
            {"slogan": said_last}, {"said": "said", "heard": "heard"}
        )
        self.datacollector.collect(self)

    def step(self):
        self.agents.do("step")
        self.datacollector.collect(self)
        if self.broken:
            raise ValueError(said_last(self))


def said_last(model):
    return model.agents[-1].said


def said_by_agent(model):
    return {bird.said: 1 for bird in model.agents}


def said_by_all(model):
    return [bird.said for bird in model.agents]


def heard_by_first(model):
    return model.agents[0].heard


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    found = valley(tmp_path_factory.mktemp("archive") / "study.sqlite")
    run(found)
    return found


def everything(folder):
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")))


def test_it_has_all_of_the_study_and_any_change_is_told(study, tmp_path):
    folder = study.archive(tmp_path / "sealed")
    names = {path.name for path in folder.iterdir()}
    expected = {SEAL, "methods.txt", "checklist.md", "report.html", "store.sqlite"}
    assert names == expected | {
        f"{name}.csv" for name in (*TABLES, "panel", "codebook")
    }
    assert SECRET.encode() in everything(folder)
    done = CliRunner().invoke(main, ["study", "verify", str(folder)])
    assert done.exit_code == 0 and "as it was sealed" in done.output
    frame = pd.read_csv(folder / "runs.csv")
    assert list(frame["fords"]) == list(study.results().runs["fords"])
    copy = valley(folder / "store.sqlite")
    assert copy.methods() == study.methods() and copy.status().finished
    (folder / "methods.txt").write_text("Nothing was done.")
    (folder / "steps.csv").unlink()
    (folder / "more.txt").write_text("x")
    assert verify(folder) == [
        "steps.csv is missing", "more.txt was added", "methods.txt was changed",
    ]  # fmt: skip
    done = CliRunner().invoke(main, ["study", "verify", str(folder)])
    assert done.exit_code == 1 and "steps.csv is missing" in done.output
    with pytest.raises(FileExistsError):
        study.archive(folder)


def test_without_texts_the_numbers_stay_and_nothing_that_was_said(study, tmp_path):
    folder = study.archive(tmp_path / "silent", texts=False)
    assert verify(folder) == [] and not (folder / "report.html").exists()
    assert SECRET.encode() not in everything(folder)
    assert b"weather is mild" not in everything(folder)
    with sqlite3.connect(folder / "store.sqlite") as silent:
        counts = "SELECT count(*), sum(tokens_in) FROM calls"
        with sqlite3.connect(study.location) as whole:
            assert silent.execute(counts).fetchone() == whole.execute(counts).fetchone()
    open_store(folder / "store.sqlite", read_only=True).close()


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """A study with the canary in every place where a text can stand."""
    found = Study(
        Aviary, {"memory": ["short_term", "episodic", "fact", "impression"]},
        seeds=range(2), steps=3, outcomes={"last": said_last},
        measures={"words": said_by_agent, "all": said_by_all},
        questionnaires=Questionnaire(Question("heard", "What did you hear?"), every=1),
        store=tmp_path_factory.mktemp("canary") / "study.sqlite",
    )  # fmt: skip
    run(found)
    return found


def test_no_text_of_an_agent_or_a_model_is_left_wherever_it_stood(told, tmp_path):
    whole = told.archive(tmp_path / "whole")
    holding = {p.name for p in whole.iterdir() if CANARY.encode() in p.read_bytes()}
    assert holding >= {"runs.csv", "steps.csv", "agents.csv", "store.sqlite"}
    silent = told.archive(tmp_path / "silent", texts=False)
    assert CANARY.encode() not in everything(silent)
    assert verify(silent) == []
    frame = pd.read_csv(silent / "agents.csv")
    assert list(frame["heard"]) == list(told.results().agents["heard"])
    assert frame["said"].isna().all()


def test_without_texts_a_failed_run_keeps_its_state_alone(tmp_path):
    broken = Study(
        Aviary, {"memory": ["short_term"], "broken": True}, seeds=range(2), steps=3,
        outcomes={"heard": heard_by_first}, store=tmp_path / "study.sqlite",
    )  # fmt: skip
    run(broken)
    silent = broken.archive(tmp_path / "silent", texts=False)
    assert CANARY.encode() not in everything(silent)
    assert list(pd.read_csv(silent / "runs.csv")["state"]) == ["failed"] * 2


@pytest.mark.parametrize("said", [{"versions": {"python": "9.9"}}, {"seal": "0" * 64}])
def test_a_changed_seal_is_named(study, tmp_path, said):
    folder = study.archive(tmp_path / "sealed")
    seal = json.loads((folder / SEAL).read_text())
    (folder / SEAL).write_text(json.dumps(seal | said))
    assert verify(folder) == [f"{SEAL} was changed"]


def test_a_seal_that_was_written_anew_is_known_by_the_hash_of_the_first(
    study, tmp_path
):
    folder = study.archive(tmp_path / "sealed")
    first = json.loads((folder / SEAL).read_text())["seal"]
    assert verify(folder, seal=first) == []
    shutil.rmtree(folder)
    folder = study.archive(
        folder, texts=False
    )  # another folder, with a seal of its own
    assert verify(folder) == []
    assert verify(folder, seal=first) == [f"{SEAL} was changed"]
    command = ["study", "verify", str(folder), "--seal", first]
    assert CliRunner().invoke(main, command).exit_code == 1


def test_a_folder_without_a_seal_is_told(tmp_path):
    with pytest.raises(StudyError, match=r"not a sealed folder of a study: seal\.json"):
        verify(tmp_path)
    (tmp_path / SEAL).write_text(json.dumps([]))
    done = CliRunner().invoke(main, ["study", "verify", str(tmp_path)])
    assert done.exit_code == 2 and "not a sealed folder" in done.output
