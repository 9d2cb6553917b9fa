"""The methods text counts every request, and names the one that answered it."""

import json
import re
import sqlite3
from functools import partial

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent

from mesa_memory import (
    EpisodicMemory,
    LongTermMemory,
    arrange_prompts,
    configure,
    open_run,
    register_policy,
)
from mesa_memory.experiments import Question, Questionnaire, Study
from mesa_memory.experiments.reports.facts import facts_of_run
from mesa_memory.experiments.reports.methods import methods
from tests.support.behaviours import Behaviour, always
from tests.support.choosers import Choice, chance_server
from tests.support.single import settle
from tests.support.study_results import run


class Thinker(LLMAgent):
    """Decides by its model, and remembers by it."""

    def think(self):
        self.llm.generate("Stay or go?")
        self.memory.add_to_memory("observation", {"view": f"day {self.model.steps}"})
        self.memory.process_step()


class Thoughts(mesa.Model):
    """Two thinkers with a policy of the user's own, whose memories ask the rules."""

    def __init__(self, memory=LongTermMemory, rng=None):
        super().__init__(rng=rng)
        configure(self, outcomes=("mood",))
        mine = register_policy("mine", lambda turn: "stay")
        for agent in settle(self, memory, 2, Thinker, mine):
            agent.mood = "glad"
            arrange_prompts(agent)

    def step(self):
        self.agents.do("think")


@pytest.fixture
def server():
    with chance_server() as server:
        yield server


def study(file, server, model=Choice, factors=None, **given):
    factors = {"base": [server.base]} if factors is None else factors
    given = {"seeds": [1, 2], "steps": 2} | given
    return Study(model, factors, store=file, **given)


@pytest.mark.parametrize("record", [True, False])
def test_cached_answers_are_told_apart_from_requests(file, server, record):
    factors = {"base": [server.base], "cache": [str(file.with_name("cache.sqlite"))]}
    run(study(file, server, factors=factors, record=record))
    again = study(file.with_name("b.sqlite"), server, factors=factors, record=record)
    run(again)
    text = again.methods()
    assert "Answers of openai/test (8 answers) came from a cache" in text
    assert "No language model" not in text and "Altogether" not in text


@pytest.mark.parametrize("record", [True, False])
def test_a_policy_is_not_credited_with_the_answers_of_the_rules(file, record):
    made = study(file, None, Thoughts, {}, record=record, seeds=[1])
    run(made)
    text = made.methods()
    assert "The policy offline/mine answered 4 requests (reasoning 4)." in text
    assert "The offline rules of mesa-memory answered" in text
    if record:
        with open_run(file, "Thoughts/seed=1") as recorded:
            said = methods(facts_of_run(recorded))
            assert "The policy offline/mine answered 4 requests" in said


def test_attempts_of_unrecorded_runs_that_failed_were_paid(file, server):
    made = study(file, server, record=False, seeds=[1])
    server.behave = lambda received: (
        Behaviour.status(401, "Incorrect API key") if len(server.log) > 2 else None
    )
    assert run(made).failed
    server.behave = always(None)
    assert run(made).finished
    assert (
        "openai/test answered 7 requests" in made.methods()
        and "1 calls failed" in made.methods()
    )
    assert made.status().calls == 4


def test_a_study_without_requests_says_so(file, server):
    made = study(file, server, factors={"base": [server.base], "asks": [0]})
    run(made)
    assert "No language model was asked." in made.methods()


def size(model):
    return len(model.agents)


def test_each_number_and_name_in_a_methods_text_is_in_the_store(file):
    levels = {"long": LongTermMemory, "small": partial(EpisodicMemory, max_capacity=20)}
    survey = Questionnaire([Question("mood", "How are you?", "text")], every=2)
    made = Study(
        Thoughts, {"memory": levels}, seeds=[5, 8, 11], steps=4, store=file,
        measures={"size": size}, outcomes={"end": size}, questionnaires=survey,
    )  # fmt: skip
    run(made)
    with sqlite3.connect(file) as store:
        texts = [made.methods()]
        of_study = expected(store, "1=1")
        of_study += [
            "was run 6 times for 4 steps, varying memory (long, small).",
            "The seeds were 5, 8 and 11.",
            "There small is EpisodicMemory(max_capacity=20).",
            "Measured after each step: size.", "Measured at the end of each run: end.",
        ]  # fmt: skip
        facts = [of_study]
        for number in (1, 6):
            with open_run(file, number) as recorded:
                texts.append(methods(facts_of_run(recorded)))
            (name,) = store.execute(
                f"SELECT seed FROM runs WHERE id={number}"
            ).fetchone()
            found = expected(store, f"run={number}")
            found += [
                "was run once for 4 steps with 2 agents.", f"The seed was {name}.",
                "(2 agents)", "Measured after each step: end and size.",
                "Recorded of each agent after each step: mood.",
            ]  # fmt: skip
            facts.append(found)
    for text, found in zip(texts, facts, strict=True):
        rest = text
        for sentence in found:
            assert sentence in rest, f"{sentence!r} is not in:\n{rest}"
            rest = rest.replace(sentence, "", 1)
        rest = rest[: rest.index("The runs were made with")]
        rest = re.sub(r"The memories' settings were: .*", "", rest)  # see below
        rest = re.sub(r"The other parameters were .*?\.(?= |\n|$)", "", rest)
        assert not re.findall(r"\d+", rest), rest


def test_settings_of_memories_are_those_of_the_store(file):
    made = Study(
        Thoughts, {"memory": [EpisodicMemory]}, seeds=[1], steps=2, store=file,
        outcomes={"end": size},
    )  # fmt: skip
    run(made)
    (told,) = re.findall(r"The memories' settings were: (.*)", made.methods())
    with sqlite3.connect(file) as store:
        kept = json.loads(store.execute("SELECT settings FROM agents").fetchone()[0])
    assert told.startswith("EpisodicMemory (") and "stream.grader.top = 5" in told
    assert sorted(re.findall(r"-?\d+\.?\d*", told.rstrip(").,"))) == sorted(
        numbers(kept)
    )


def numbers(values):
    """All numbers in nested settings, as text."""
    for value in values.values():
        if isinstance(value, dict):
            yield from numbers(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield str(value)


def expected(store, which):
    """The sentences about requests, tokens and answers, counted in the tables."""
    (calls, tokens_in, tokens_out) = store.execute(
        f"SELECT count(*), sum(tokens_in), sum(tokens_out) FROM calls WHERE {which}"
    ).fetchone()
    used = f"{tokens_in:,} tokens in prompts and {tokens_out:,} tokens in replies"
    found = [
        f"Altogether {calls:,} calls used {used}, estimated from their characters, without cost."
    ]
    names = {"offline": "The offline rules of mesa-memory"}
    names["offline/mine"] = "The policy offline/mine"
    models = store.execute(f"SELECT DISTINCT model FROM calls WHERE {which}").fetchall()
    for (model,) in models:
        by = store.execute(
            "SELECT purpose, count(*) FROM calls WHERE model=? AND "
            f"{which} GROUP BY purpose ORDER BY purpose",
            [model],
        ).fetchall()
        told = [f"{purpose} {number}" for purpose, number in by]
        listed = " and ".join([", ".join(told[:-1]), told[-1]] if told[1:] else told)
        total = sum(number for _, number in by)
        found.append(f"{names[model]} answered {total:,} requests ({listed}).")
    (answers, unusable) = store.execute(
        f"SELECT count(*), count(error) FROM responses WHERE {which}"
    ).fetchone()
    assert answers and not unusable
    return [*found, f"Agents were asked mood, with {answers:,} answers."]
