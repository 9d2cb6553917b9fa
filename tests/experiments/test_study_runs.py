"""The run of a study is gone on with as any other, by class and by command."""

from functools import partial

import mesa
import pytest
from click.testing import CliRunner
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import (
    EpisodicMemory,
    ShortTermMemory,
    STLTMemory,
    close,
    configure,
    fork,
    open_run,
    register_policy,
    resume,
)
from mesa_memory.cli import main
from mesa_memory.errors import ParameterError
from mesa_memory.experiments import Study, placebo
from mesa_memory.experiments.attribution import attribute
from mesa_memory.interventions import edit
from mesa_memory.memories.registry import find
from tests.support.single import settle
from tests.support.turns import in_turn

QUIET = register_policy("quiet", lambda turn: "Nothing.")


class Walker(LLMAgent):
    def step(self):
        seen = {"view": f"number {self.model.random.randrange(1000)}"}
        self.memory.add_to_memory("observation", seen)
        self.memory.get_prompt_ready()


class Given(mesa.Model):
    """Is told the memory."""

    def __init__(self, memory="short_term", n=2, record=None, rng=None):
        super().__init__(rng=rng)
        configure(self, llm="offline", record=record)
        settle(self, find(memory), n, Walker, QUIET)

    def step(self):
        self.agents.do("step")


class Bare(mesa.Model):
    """Knows nothing of memories: the study gives them."""

    def __init__(self, n=2, seed=None):
        super().__init__(seed=seed)
        for _ in range(n):
            Walker(self, CoTReasoning, QUIET)

    def step(self):
        self.agents.do("step")


class Loose(Given):
    """Takes any name."""

    def __init__(self, **settings):
        self.settings = settings
        super().__init__(**settings)


class Mine(ShortTermMemory):
    """A class of the user's own."""


def make_memory(agent, n=3):
    return ShortTermMemory(agent, n=n)


FORMS = {
    "name": "episodic",
    "class": STLTMemory,
    "own class": Mine,
    "module:class": f"{__name__}:Mine",
    "function": make_memory,
    "settings": partial(EpisodicMemory, max_capacity=3),
    "function with settings": partial(make_memory, n=1),
    "placebo": placebo(EpisodicMemory, "shuffled"),
}


def remembered(model):
    return [agent.memory.get_prompt_ready() for agent in model.agents]


def length(model):
    return sum(map(len, remembered(model)))


def stepped(model, steps=1):
    for _ in range(steps):
        model.step()
    found = remembered(model)
    close(model)
    return found


def studied(model, file, memory, seed=7, steps=2, **more):
    factors = {"memory": {"a label": memory}, "n": 3} | more
    study = Study(model, factors, seeds=[3, seed], steps=steps, store=file)
    status = study.run("serial", progress=False)
    assert not status.failed, status.failed
    return study


@in_turn(form=FORMS, model=[Given, Bare, Loose])
def test_a_studys_run_goes_on_as_an_uninterrupted_one(model, form, tmp_path):
    study = studied(model, tmp_path / "short.sqlite", FORMS[form])
    whole = studied(model, tmp_path / "long.sqlite", FORMS[form], steps=4)
    end = stepped(whole.arms[list(whole.cases)[1]].make(), 4)
    name = study.results().runs["run"][1]
    file = study.location
    early = fork(model, file, 1, run=name)  # its way to step 1 is repeated
    assert stepped(early, 3) == end
    again = fork(model, file, run=early_run(file))
    assert remembered(again) == end
    close(again)
    assert stepped(resume(model, file, run=name), 2) == end
    found = attribute(
        model, file, step=1, outcome=length, steps=4, run=name, screen=2, progress=False
    )
    assert found.exact and found.effects
    with open_run(file, name) as run:
        assert run.parameters["memory"] == "a label"


def early_run(file):
    with open_run(file) as run:
        return run.id


def test_a_lambda_of_a_study_is_asked_for_and_may_be_given(tmp_path):
    study = studied(Bare, tmp_path / "study.sqlite", lambda agent: Mine(agent))
    with pytest.raises(ParameterError, match="memory") as caught:
        resume(Bare, study.location)
    assert caught.value.names == ("memory",)
    again = resume(Bare, study.location, memory=Mine)
    assert {type(agent.memory) for agent in again.agents} == {Mine}
    assert again.steps == 2 and len(again.agents) == 3
    stepped(again)


def test_a_studys_run_in_postgresql_goes_on_and_an_edited_record_keeps_its_place(
    postgres,
):
    study = studied(Bare, postgres.database(), FORMS["settings"], steps=3)
    branch = fork(Bare, study.location, memory=partial(make_memory, n=4), run=1)
    branch.step()
    agent = branch.agents[0]
    records = agent.memory.current_records()
    edit(agent, records[0].id, {"view": "another number"})
    branch.step()
    then = remembered(branch)
    assert "another number" in then[0]
    close(branch)
    again = resume(Bare, study.location)
    assert remembered(again) == then
    close(again)


def test_services_of_a_study_are_given_again(tmp_path):
    study = studied(
        Bare, tmp_path / "study.sqlite", "episodic", llm="offline", attempts=3
    )
    from mesa_memory import Services

    again = resume(Bare, study.location)
    assert Services.of(again).settings.attempts == 3
    stepped(again)


def test_the_command_attributes_a_run_of_a_study(tmp_path, monkeypatch):
    study = studied(Given, tmp_path / "study.sqlite", Mine)
    monkeypatch.chdir(tmp_path)
    name = study.results().runs["run"][0]
    done = CliRunner().invoke(
        main,
        ["attribute", f"{study.location}#{name}", "--model", f"{__name__}:Given",
         "--step", "1", "--steps", "2", "--outcome", f"{__name__}:length"],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "Without" in done.output
