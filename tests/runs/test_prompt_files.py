"""A run records from which prompt files its models and agents were told, once each."""

import logging
from typing import ClassVar

import pytest

from mesa_memory import ReplayMismatch, STLTMemory, configure, open_run, resume
from mesa_memory.core.wording import ENGLISH, Wording
from mesa_memory.experiments.reports.facts import facts_of_run
from mesa_memory.experiments.reports.methods import methods
from mesa_memory.viz.report.page import write_report
from tests.support.hamlet import Hamlet
from tests.support.playing import play


class Digging(Hamlet):
    """Two people dig and remember it in summaries."""

    makers: ClassVar = {"stlt": lambda agent: STLTMemory(agent, 1, 1)}
    tool = "shovel"

    def step(self):
        for agent in self.agents:
            done = f"dug {self.steps} with a {self.tool}"
            agent.memory.add_to_memory("action", {"done": done})
            agent.memory.process_step()


def played(file, **given):
    play(Digging(record=file, **given), 4)
    return open_run(file)


def folder(place, said):
    place.mkdir(exist_ok=True)
    (place / "consolidate.md").write_text(f"## system\n\n{said}\n")
    return str(place)


def test_a_run_has_each_file_that_it_used_once_with_its_text(tmp_path):
    run = played(tmp_path / "run.sqlite")
    rows = run.prompt_files(as_records=True)
    found = {row["name"]: row for row in rows}
    assert len(found) == len(rows)
    assert {"common", "consolidate"} <= set(found)
    assert "grade" not in found
    told = found["consolidate"]
    assert (told["language"], told["hash"]) == ("en", ENGLISH.files["consolidate"].hash)
    assert "## system\n\n" in told["text"]
    assert "{{ summary" in told["text"]


def test_an_own_text_is_recorded_with_the_parts_that_it_leaves_alone(tmp_path):
    own = folder(tmp_path / "own", "Keep it short.")
    run = played(tmp_path / "run.sqlite", prompts=own)
    (row,) = [
        r for r in run.prompt_files(as_records=True) if r["name"] == "consolidate"
    ]
    assert "Keep it short." in row["text"]
    assert "## prompt" in row["text"]
    assert row["hash"] == Wording(folder=own).files["consolidate"].hash
    assert row["hash"] != ENGLISH.files["consolidate"].hash


@pytest.mark.parametrize("said", ["Keep it short.", "Keep it long."])
def test_a_run_that_goes_on_with_another_text_says_so_and_records_both(
    tmp_path, caplog, said
):
    file, own = tmp_path / "run.sqlite", folder(tmp_path / "own", "Keep it short.")
    played(file, prompts=own)
    folder(tmp_path / "own", said)
    with caplog.at_level(logging.WARNING, "mesa_memory"):
        play(resume(Digging, file, prompts=own), 3)
    rows = open_run(file).prompt_files(as_records=True)
    texts = [row["text"] for row in rows if row["name"] == "consolidate"]
    told = "en/consolidate.md is not what it was" in caplog.text
    assert told is (len(texts) == 2) is (said == "Keep it long.")


def test_a_replay_in_other_words_names_the_files_that_have_changed(tmp_path):
    file, own = tmp_path / "run.sqlite", folder(tmp_path / "own", "Keep it short.")
    played(file)
    again = {"file": tmp_path / "again.sqlite", "replay": file, "on_failure": "raise"}
    said = r"changed: en/consolidate\.md\.\n"
    with pytest.raises(ReplayMismatch, match=said) as raised:
        played(**again, prompts=own)
    assert "+system: Keep it short." in str(raised.value)


@pytest.mark.parametrize(
    ("language", "name", "sentence"),
    [("en", "one day", "A step is one day."), ("ja", "一年", "1 ステップは一年です。")],
)
def test_what_a_step_is_is_told_recorded_and_resumed(
    tmp_path, language, name, sentence
):
    file = tmp_path / "run.sqlite"
    model = Digging(record=file, language=language)
    configure(model, step_name=name)
    play(model, 4)
    (agent, _) = model.agents
    assert agent.memory.get_prompt_ready().startswith(f"{sentence}\n\n")
    run = open_run(file)
    asked = [row["prompt"][0]["content"] for row in run.calls(as_records=True)]
    assert asked
    assert all(text.count(sentence) == 1 for text in asked)
    assert run.step_name == sentence
    assert sentence in methods(facts_of_run(run))
    assert sentence in write_report(run, tmp_path / "report.html").path.read_text()
    again = resume(Digging, file, language=language)
    assert again.agents[0].memory.get_prompt_ready().startswith(sentence)
    other = {"file": tmp_path / "other.sqlite", "replay": file, "on_failure": "raise"}
    with pytest.raises(ReplayMismatch, match=rf"changed: {language}/common\.md"):
        played(**other, language=language)


@pytest.mark.parametrize("name", ["", " ", "a day.", "{{ x }}", "a\nday", "x" * 61, 3])
def test_a_wrong_name_of_a_step_is_refused_and_changes_nothing(name):
    model = Digging(step_name="one day")
    with pytest.raises((TypeError, ValueError), match="step_name must say what a step"):
        configure(model, step_name=name)
    assert model.agents[0].memory.get_prompt_ready().startswith("A step is one day.")
    configure(model, step_name=None)
    assert "A step" not in model.agents[0].memory.get_prompt_ready()
