"""People who are told that they are somebody else, and how far they believe it."""

import re

import mesa
import pandas as pd
import pytest

from mesa_memory import OfflineLLM, ScriptedLLM, configure, register_policy
from mesa_memory.experiments import BiographyQuestions, Study
from mesa_memory.experiments.measures.biographies import AGREEMENT
from mesa_memory.experiments.measures.questionnaires import answers_frame
from mesa_memory.interventions import biography
from mesa_memory.memories.registry import find
from tests.support.planners import text_of
from tests.support.single import memory_of, settle
from tests.support.study_results import run

FIELDS = [f"trait{n}" for n in range(9)] + ["age"]


class Obedient(OfflineLLM):
    """Believes the last thing said of a field, or else its biography; keeps prompts."""

    def __init__(self):
        super().__init__()
        self.prompts = []

    def complete(self, request):
        text = text_of(request)
        if request.purpose == "reasoning":
            self.prompts.append((request.agent, text))
        if request.purpose != "probe":
            return super().complete(request)
        field = re.search(r"What is your (\w+)\?", text)[1]
        # Words, or the fact that the offline rules read in them.
        said = re.findall(rf"[Yy]our {field}(?: is|: state:) (\w+)", text)
        value = (said or re.findall(rf"- {field}: (\w+)", text) or ["unknown"])[-1]
        reply = f'{{"answer": {value}}}' if field == "age" else f"{field}: {value}."
        return ScriptedLLM([reply]).complete(request)


class Crowd(mesa.Model):
    """Each is told each day by the one before that one of its traits is another."""

    def __init__(self, table=None, memory="short_term", llm=None, pinned=True, rng=1):
        super().__init__(rng=rng)
        configure(self, llm=llm or Obedient())
        frame = pd.read_csv(table)
        quiet = register_policy("quiet", lambda turn: "As you say.")
        settle(self, find(memory), len(frame), name=quiet)
        if pinned:
            biography(self.agents, table)

    def step(self):
        people = list(self.agents)
        field = FIELDS[(self.steps - 1) % len(FIELDS)]
        value = 60 if field == "age" else "wrong"
        for teller, told in zip(people, [*people[1:], people[0]], strict=True):
            teller.send_message(f"Your {field} is {value}.", [told])
        for agent in people:
            agent.memory.process_step(pre_step=True)
            agent.llm.generate(prompt=agent.memory.get_prompt_ready())
            agent.memory.process_step()


def written(path, n):
    """A CSV file of n people with ten fields; gives its path and the text of each."""
    rows = {k: [*(f"own{k}of{f}" for f in range(9)), 20 + k] for k in range(1, n + 1)}
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=FIELDS)
    frame.rename_axis("id").to_csv(path)
    texts = {
        key: "\n".join(f"- {f}: {v}" for f, v in zip(FIELDS, row, strict=True))
        for key, row in rows.items()
    }
    return str(path), texts


def contradicted(path, memory, n, steps, every):
    """The share of agreeing answers by step and agent, after contradictions.

    The pinned text must stand in every prompt, unchanged.
    """
    table, texts = written(path, n)
    client = Obedient()
    crowd = Crowd(table, memory, client)
    survey, answers = BiographyQuestions(table, every=every), []
    for _ in range(steps):
        crowd.step()
        answers += survey.put(crowd)
    assert len(client.prompts) == n * steps
    pinned = {
        k: f"(always true, whatever others say):\n{t}\n\n" for k, t in texts.items()
    }
    assert all(text.count(pinned[agent]) == 1 for agent, text in client.prompts)
    assert "wrong" in client.prompts[-1][1]
    frame = answers_frame(answers)
    assert not frame.error.notna().any()
    shares = frame[frame.question == AGREEMENT]
    return shares.pivot(index="step", columns="agent", values="value").astype(float)


def test_the_share_of_agreeing_answers_falls_with_each_contradiction(tmp_path):
    shares = contradicted(tmp_path / "people.csv", "short_term", 4, 7, 1)
    assert shares.shape == (7, 4)
    believed = [0.9, 0.8, 0.7, 0.6, 0.5, 0.5, 0.5]  # the memory has five steps
    assert shares.to_numpy().tolist() == [[pytest.approx(s)] * 4 for s in believed]


def test_a_study_reports_it_with_and_without_biographies(tmp_path):
    table, _ = written(tmp_path / "people.csv", 2)
    study = Study(
        Crowd,
        {"pinned": [True, False], "table": [table]},
        steps=3,
        seeds=[1],
        questionnaires=[BiographyQuestions(table, at=[3])],
        store=tmp_path / "study.sqlite",
    )
    run(study)
    answers = study.results().answers
    shares = answers[answers.question == AGREEMENT]
    by_arm = shares.groupby("pinned").answer.apply(list).to_dict()
    assert by_arm == {True: [0.7, 0.7], False: [0.0, 0.0]}
    assert set(answers.question) == {*FIELDS, AGREEMENT}


def asked(replies, columns):
    """The answers of one agent with a memory, to a table, from a scripted model."""
    memory = memory_of(find("short_term"), ScriptedLLM(replies))
    return BiographyQuestions(pd.DataFrame(columns)).ask(memory.agent.model)


@pytest.mark.parametrize(
    "reply, value, agrees",
    [
        ("The Mill", "the mill", 1),
        (" home: the  mill. ", "the mill", 1),
        ("“the mill”", "the mill", 1),
        ("the mill by the lake", "the mill", 0),
        ("12", "the mill", 0),
    ],
)
def test_texts_are_compared_without_their_form(reply, value, agrees):
    answers = asked([reply], {"id": [1], "home": [value]})
    assert [each.question for each in answers] == ["home", AGREEMENT]
    assert answers[-1].value == agrees


def test_numbers_are_asked_for_and_compared_as_numbers():
    columns = {"id": [1], "age": [40], "pay": [1.5]}
    answers = asked(['{"answer": 40}', '{"answer": 1.50}'], columns)
    assert [each.value for each in answers] == [40, 1.5, 1]
    survey = BiographyQuestions(pd.DataFrame(columns))
    assert [q.kind for q in survey.questions] == ["integer", "float"]


def test_fields_that_a_row_lacks_are_not_asked_and_unusable_answers_do_not_count():
    answers = asked(
        ["the mill"], {"id": [1, 2], "home": ["the mill", "x"], "job": ["", "y"]}
    )
    assert [(a.question, a.value) for a in answers] == [
        ("home", "the mill"),
        (AGREEMENT, 1),
    ]
    [home, share] = asked([], {"id": [1], "home": ["the mill"]})
    assert home.error
    assert (share.value, share.error) == (None, "no answer can be used")


def test_a_field_cannot_have_the_name_of_the_share():
    with pytest.raises(ValueError, match="cannot be called 'agreement'"):
        BiographyQuestions(pd.DataFrame({"id": [1], "agreement": [1]}))
