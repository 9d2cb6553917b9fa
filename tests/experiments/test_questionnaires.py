"""Questionnaires: typed answers on a schedule, and no trace of having asked."""

import hashlib

import mesa
import numpy as np
import pytest
from pydantic import BaseModel

from mesa_memory import (
    LLMUnavailable,
    Recording,
    ScriptedLLM,
    Services,
    ShortTermMemory,
    configure,
    metrics,
)
from mesa_memory.experiments import Question, Questionnaire
from mesa_memory.experiments.measures.questionnaires import answers_frame
from mesa_memory.stores.schema import PROBES
from tests.support import tables
from tests.support.classes import EVERY
from tests.support.single import Late, settle
from tests.support.town import Town

TYPED = [
    Question("who", "Who sold fish?"),
    Question("many", "How many fish were sold?", "integer", least=0),
    Question("price", "What did a fish cost?", "float", most=1000),
    Question("what", "What was sold?", "choice", choices=("fish", "bread", "none")),
    Question("any", "What do you know of fish?", "json"),
]


class Place(mesa.Model):
    """Agents who know one thing."""

    def __init__(self, llm, n=2, **given):
        super().__init__(rng=1)
        configure(self, llm=llm, **given)
        agents = settle(self, ShortTermMemory, n, name="openai/test")
        for number, agent in enumerate(agents):
            said = {"message": f"I sold {number + 3} fish.", "sender": 99}
            agent.memory.add_to_memory("message", said)

    def step(self):
        """Time passes."""


def value(place, question):
    """What the first agent says; the error must be None."""
    answer = Questionnaire(question).ask(place)[0]
    assert answer.error is None
    return answer.value


def error(llm, question, **given):
    """Why there is no answer; the value must be None."""
    answer = Questionnaire(question).ask(Place(llm, **given))[0]
    assert answer.value is None
    return answer.error


# -- answers ---------------------------------------------------------------------------


def test_without_a_model_the_memory_is_read():
    place = Place("offline")
    assert "I sold 3 fish" in value(place, TYPED[0])
    assert value(place, TYPED[1]) == 3
    assert value(place, TYPED[3]) == "fish"
    frame = answers_frame(Questionnaire(TYPED[:2], every=1).ask(place))
    assert list(frame.columns) == ["step", "agent", "question", "value", "error"]
    assert list(frame["agent"]) == [1, 1, 2, 2]
    assert list(frame["question"]) == ["who", "many"] * 2
    assert frame["value"].iloc[3] == 4


class Mood(BaseModel):
    """How somebody feels."""

    word: str
    strength: int


def test_an_answer_has_the_type_that_was_asked_for():
    cases = [
        (TYPED[0], "Agent 99.", "Agent 99."),
        (TYPED[1], '{"answer": 3}', 3),
        (TYPED[1], '```json\n{"answer": "3"}\n```', 3),
        (TYPED[2], '{"answer": 2.5}', 2.5),
        (TYPED[3], '{"answer": "none"}', "none"),
        (TYPED[4], '{"answer": {"fish": [1, 2]}}', {"fish": [1, 2]}),
        (
            Question("mood", "How do you feel?", "json", schema=Mood),
            '{"word": "calm", "strength": 2}',
            {"word": "calm", "strength": 2},
        ),
    ]
    for question, reply, expected in cases:
        assert value(Place(ScriptedLLM(rules={"probe": reply})), question) == expected


def test_a_model_is_told_what_counts_as_an_answer():
    llm = ScriptedLLM(rules={"probe": '{"answer": 4}'})
    value(Place(llm), Question("trust", "Trust?", "integer", least=1, most=7))
    prompt = llm.history[0].prompt
    assert prompt.endswith('{"answer": a whole number from 1 to 7}')
    assert "I sold 3 fish" in prompt


@pytest.mark.parametrize(
    ("question", "reply"),
    [
        (TYPED[1], '{"answer": -1}'),
        (TYPED[3], '{"answer": "cheese"}'),
        (TYPED[3], '{"answer": null}'),
    ],
)
def test_a_wrong_answer_is_asked_for_again_and_then_is_an_error(question, reply):
    llm = ScriptedLLM(rules={"probe": reply})
    assert error(llm, question, n=1).startswith("BadReply: ")
    assert len(llm.history) == 2
    repaired = ScriptedLLM([reply, '{"answer": "fish"}' if question is TYPED[3] else
                            '{"answer": 7}'])  # fmt: skip
    assert value(Place(repaired, n=1), question) in ("fish", 7)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (LLMUnavailable("the server is down"), "LLMUnavailable: "),
        (KeyError("a bug of the user's"), "KeyError: "),
        ("  ", "BadReply: "),
    ],
)
def test_no_fault_of_an_answer_stops_the_run(fault, said):
    llm = ScriptedLLM(rules={"probe": fault})
    place = Place(llm, n=3)
    answers = Questionnaire(TYPED[0]).ask(place)
    assert [answer.agent for answer in answers] == [1, 2, 3]
    assert all(said in answer.error for answer in answers)
    place.step()


def test_those_with_a_memory_are_asked_or_those_chosen_by_id_or_function():
    place = Place("offline")
    mesa.Agent(place)
    assert [a.agent for a in Questionnaire(TYPED[0]).ask(place)] == [1, 2]
    told = Questionnaire(TYPED[0], agents=[2, 3]).ask(place)
    assert [answer.agent for answer in told] == [2, 3]
    assert "must have a memory of mesa_memory" in told[1].error
    odd = Questionnaire(TYPED[0], agents=lambda agent: agent.unique_id % 2)
    assert [answer.agent for answer in odd.ask(place)] == [1, 3]


def test_a_schedule_says_when():
    survey = Questionnaire(TYPED[0], every=5, at=[2, 3])
    assert [step for step in range(11) if survey.due(step)] == [2, 3, 5, 10]
    assert not survey.at_end
    assert Questionnaire(TYPED[0]).at_end
    place = Place("offline")
    put = []
    for _ in range(5):
        place.step()
        put += survey.put(place)
    assert [(answer.step, answer.agent) for answer in put] == [
        (2, 1), (2, 2), (3, 1), (3, 2), (5, 1), (5, 2),
    ]  # fmt: skip


def test_what_cannot_be_asked_is_refused():
    cases = [
        (lambda: Question("", "Who?"), "name of a question"),
        (lambda: Question("who", " "), "text of a question"),
        (lambda: Question("who", "Who?", "yes"), "kind must be one of"),
        (lambda: Question("who", "Who?", choices=["a", "b"]), "choices of .* go with"),
        (lambda: Question("who", "Who?", "choice", "ab"), "two or more different"),
        (lambda: Question("who", "Who?", "choice", ["a", "a"]), "different texts"),
        (lambda: Question("who", "Who?", least=1), "least and most, .* a number"),
        (lambda: Question("n", "N?", "integer", least=2, most=1), "least below most"),
        (lambda: Question("n", "N?", "integer", schema=Mood), "schema goes with"),
        (lambda: Questionnaire([TYPED[0], TYPED[0]]), "questions with different names"),
        (lambda: Questionnaire(["Who?"]), "must be of class Question"),
        (lambda: Questionnaire(TYPED[0], every=0), "every must be above 0"),
        (lambda: Questionnaire(TYPED[0], at=[-1]), "at must be >= 0"),
        (lambda: Questionnaire(TYPED[0], agents="all"), "agents must be a list"),
        (lambda: Question("n", "N?", truth="yes"), "truth is a function of model"),
        (
            lambda: Questionnaire(Question("n", "N?", truth=lambda model, agent: 1)),
            "by which MemoryQuiz judges",
        ),
    ]
    for make, said in cases:
        with pytest.raises((TypeError, ValueError), match=said):
            make()


# -- no trace --------------------------------------------------------------------------

SURVEY = Questionnaire(TYPED, every=2, at=[3])


class Reader(Town):
    """A town whose people read their memory only now and then.

    So the researcher is often the first to ask: what a read brings about, such as
    embeddings, must not show until an agent itself reads.
    """

    def __init__(self, file, memory, asks, **given):
        recording = Recording(str(file), parameters={}, checkpoint_every=1)
        given = {"llm": "offline", "record": recording} | given
        super().__init__(3, memory, setup=lambda model: configure(model, **given))
        self._asks, self._answers = asks, []
        self.datacollector = mesa.DataCollector({"calls": metrics.calls})

    def step(self):
        super().step()
        if self.steps in (3, 5):
            for citizen in self.citizens:
                citizen.memory.get_prompt_ready()
                if recall := getattr(citizen.memory, "recall", None):
                    recall("fish")
        self.datacollector.collect(self)
        if self._asks:
            self._answers += SURVEY.put(self)

    def get_state(self):
        return self.datacollector.model_vars


def lived(file, memory, asks, **given):
    town = Reader(file, memory, asks, **given)
    for _ in range(5):
        town.step()
    if asks:  # and between two steps
        town._answers += SURVEY.ask(town)
    Services.of(town).recorder.close()
    return town


def name_of(memory):
    return getattr(memory, "__name__", str(memory))


class Elsewhere:
    """An embedder that asks a provider, as the record of a run takes it."""

    name, dim, batch, local = "test/elsewhere", 4, 64, False

    def embed(self, texts):
        digests = [hashlib.sha256(text.encode()).digest()[:4] for text in texts]
        return np.array([list(digest) for digest in digests], dtype=np.float32) + 1


@pytest.mark.parametrize("memory", EVERY, ids=name_of)
def test_the_same_where_providers_are_asked_for_answers_and_vectors(memory, tmp_path):
    files = [tmp_path / "without.sqlite", tmp_path / "with.sqlite"]
    for file in files:
        lived(file, memory, file is files[1], llm=Late(), embedder=Elsewhere())
    (plain, _), (probed, asked) = map(tables.without_probes, files)
    assert [row["seq"] - PROBES for row in asked] == [*range(1, len(asked) + 1)]
    assert len(asked) >= 60
    vectors = [
        {row["key"]: row["vector"] for row in found.pop("vectors")}
        for found in (plain, probed)
    ]
    assert vectors[0].items() <= vectors[1].items(), "only texts of probes are new"
    # Answers of a step that has not ended are kept until the next one has.
    assert not plain.pop("unfinished_calls")
    kept = probed.pop("unfinished_calls")
    assert {row["purpose"] for row in kept} == {"probe"}
    for table, rows in plain.items():
        assert rows == probed[table], table
