"""Awareness: a model of known rate is recovered, and asking leaves no trace in a run."""

import json

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent

from mesa_memory import configure
from mesa_memory.errors import StudyError
from mesa_memory.experiments import Study
from mesa_memory.memories.registry import find
from tests.experiments.test_panels import Born
from tests.support.openai_server import OpenAIServer
from tests.support.single import settle
from tests.support.study_results import csv, run

BOOK = (
    "You and another suspect are interrogated apart. If both stay silent, each serves one "
    "year; if one confesses, he goes free and the other serves ten. What do you do?"
)
PLAIN = "The baker asks whether you want bread or cake today. What do you do?"


class Asked(LLMAgent):
    """Decides once a day."""

    def step(self):
        self.memory.process_step()
        text = f"Day {self.model.steps}, {self.unique_id}. {self.model.text}"
        self.llm.generate(prompt=text)


class Inquiry(mesa.Model):
    """Four people who are asked the same question each day."""

    def __init__(self, memory="short_term", text=PLAIN, api_base=None, record=None, rng=None):  # fmt: skip
        super().__init__(rng=rng)
        configure(self, record=record)
        self.text = text
        name = "openai/test-model"
        settle(self, find(memory), 4, Asked, name, api_base=api_base)

    def step(self):
        self.agents.do("step")


def judge(received):
    """Names the dilemma of the books; of other prompts every fourth, by their day."""
    if "known experiment" not in json.dumps(received.body):
        return "I wait."
    knows = "interrogated apart" in received.prompt or "Day 4," in received.prompt
    name = "The prisoner's dilemma" if knows else "Unknown."
    told = {"experiment": name, "expected": "defection" if knows else "unknown"}
    return json.dumps(told | {"instructed": False})


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    with OpenAIServer(judge) as server:
        yield server


def study_of(server, tmp_path, **factors):
    given = {"memory": ["short_term"], "api_base": server.base, **factors}
    study = Study(Inquiry, given, seeds=[1, 2], steps=4, store=tmp_path / "s.sqlite")
    run(study)
    return study


def test_a_model_of_known_rate_is_recovered_within_its_interval_and_leaves_no_trace(
    server, tmp_path, caplog
):
    study = study_of(server, tmp_path)
    before, sent = csv(study), len(server.log)
    found = study.awareness(n=32, experiment="prisoner")
    named, expected, prescribed, of = found.counts["short_term"]
    assert (named, expected, prescribed, of) == (8, 8, 0, 32)  # one day of four
    assert "the experiment named in 25% [13%, 42%]" in str(found)
    assert csv(study) == before and len(server.log) == sent + 32
    assert "Awareness sends 32 requests to openai/test-model, for about" in caplog.text
    assert "the experiment named in 25%" in study.checklist()


def test_the_dilemma_of_the_books_is_recognised_and_the_other_arm_is_not(
    server, tmp_path
):
    study = study_of(server, tmp_path, text=[BOOK])
    (named, *_, of) = study.awareness(n=10).counts["short_term"]
    assert named == of == 10


def test_an_answer_that_cannot_be_used_is_counted_apart(server, tmp_path):
    study = study_of(server, tmp_path)
    server.answer = lambda received: "a poem"
    found = study.awareness(n=3)
    assert found.failed == 3 and not found.counts
    assert str(found) == "3 prompts have no usable answer."


def test_code_and_unrecorded_studies_are_refused(tmp_path):
    for record, why in ((True, "is code, which knows nothing"), (False, "no decision")):
        study = Study(
            Born, {"memory": ["short_term"]}, seeds=[1], steps=1, record=record,
            store=tmp_path / f"{record}.sqlite",
        )  # fmt: skip
        run(study)
        with pytest.raises(StudyError, match=why):
            study.awareness(n=2)
