"""Code of a user's own that is wrong says so at once, as itself; an outage passes."""

import dataclasses
import gc
import weakref
from functools import partial

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning
from mesa_llm.reasoning.react import ReActReasoning
from mesa_llm.reasoning.rewoo import ReWOOReasoning
from pydantic import BaseModel, model_validator

from mesa_memory import (
    EpisodicMemory,
    LongTermMemory,
    ScriptedLLM,
    Services,
    ShortTermMemory,
    STLTMemory,
    arrange_prompts,
    close,
    configure,
    register_policy,
    resume,
)
from mesa_memory.core.requests import ask
from mesa_memory.llm import LLMRequest
from tests.support.single import settle
from tests.support.turns import in_turn

BUGS = [TypeError, KeyError, ZeroDivisionError, AttributeError, ValueError]


def failing(bug):
    """Counts how often it is called, and then fails."""

    def fail(*_, **__):
        fail.calls += 1
        raise bug("a bug of mine")

    fail.calls = 0
    return fail


def remembering(kind=LongTermMemory, **services):
    model = mesa.Model(rng=1)
    configure(model, **services)
    (agent,) = settle(model, kind, name="ollama/x", api_base="http://127.0.0.1:9")
    agent.memory.add_to_memory("message", {"message": "the dam broke", "sender": 4})
    return model, agent.memory


def use(model, memory):
    memory.process_step()
    memory.get_prompt_ready()
    model.step()


@pytest.mark.parametrize("execution", ["blocking", "deferred"])
@pytest.mark.parametrize("method", ["complete", "acomplete"])
def test_a_bug_in_ones_own_language_model_is_told_at_once(method, execution):
    for bug in BUGS:
        fail = failing(bug)

        class Mine:
            if method == "complete":
                complete = fail
            else:

                async def acomplete(self, request):
                    fail()

        with pytest.raises(bug, match="a bug of mine"):
            use(*remembering(llm=Mine(), execution=execution))
        assert fail.calls == 1


@pytest.mark.parametrize("method", ["generate", "agenerate"])
def test_a_bug_in_what_replaces_the_memorys_llm_is_told_at_once(method):
    for bug in BUGS:
        model, memory = remembering()
        fail = failing(bug)

        async def afail(*_, **__):
            fail()

        setattr(memory.llm, method, fail if method == "generate" else afail)
        with pytest.raises(bug, match="a bug of mine"):
            use(model, memory)
        assert fail.calls == 1


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_in_ones_own_embedder_is_told_at_once(bug):
    class Mine:
        name, dim, batch = "mine", 4, 10
        embed = failing(bug)

    at_once = partial(EpisodicMemory, grade_together=1)
    with pytest.raises(bug, match="a bug of mine"):
        use(*remembering(at_once, llm="offline", embedder=Mine()))
    assert Mine.embed.calls == 1


class Careful(BaseModel):
    """A schema whose own check is wrong."""

    text: str

    @model_validator(mode="after")
    def look(self):
        raise Careful.bug("a bug of mine")


class Diary(ShortTermMemory):
    """Asks for a reply of its own, with a schema of its own."""

    def remember(self, view):
        step = self.agent.model.steps
        yield from ask(
            LLMRequest(
                *("mood", self.agent.unique_id, step, "You feel.", "How?", Careful),
                inputs={"text": "fine"},
            ),
            max_chars=100,
        )


@pytest.mark.timeout(600)
@in_turn(
    execution=["blocking", "deferred"], bug=[TypeError, KeyError, ZeroDivisionError]
)
def test_a_bug_in_the_check_of_ones_own_schema_is_told_at_once(bug, execution):
    Careful.bug = bug
    llm = ScriptedLLM(queue=[{"text": "fine"}] * 3)
    with pytest.raises(bug, match="a bug of mine"):
        use(*remembering(Diary, llm=llm, execution=execution))
    assert len(llm.history) == 1


@pytest.mark.timeout(600)
@in_turn(execution=["blocking", "deferred"], bug=BUGS)
def test_a_bug_in_ones_own_function_of_importance_is_told_at_once(bug, execution):
    fail = failing(bug)

    def grading(agent):
        return EpisodicMemory(agent, importance=fail)

    with pytest.raises(bug, match="a bug of mine"):
        use(*remembering(grading, llm="offline", execution=execution))
    assert fail.calls == 1


@pytest.mark.timeout(600)
@pytest.mark.parametrize("grade", [None, "high", float("nan"), 0, 6, True])
def test_a_grade_that_is_none_is_told_at_once(grade):
    def grading(agent):
        return EpisodicMemory(agent, importance=lambda record: grade)

    with pytest.raises(ValueError, match="must return a number from 1 to 5, got"):
        use(*remembering(grading, llm="offline"))


@pytest.mark.parametrize("outage", [ConnectionError, TimeoutError])
def test_an_outage_behind_what_replaces_the_memorys_llm_passes(outage):
    model, memory = remembering()
    memory.llm.generate = failing(outage)
    use(model, memory)
    assert not memory.long_term_memory
    assert memory.llm.generate.calls > 0


# -- a policy of one's own -------------------------------------------------------------


class Slip(Exception):
    """The user's own error."""


def fails(error):
    def policy(turn):
        raise error

    return policy


class Thinker(LLMAgent):
    def step(self):
        self.apply_plan(self.reasoning.plan(prompt="What now?"))

    async def astep(self):
        self.apply_plan(await self.reasoning.aplan(prompt="What now?"))


class Room(mesa.Model):
    def __init__(self, policy, reasoning=CoTReasoning):
        super().__init__(rng=1)
        configure(self, llm="offline")
        name = register_policy("buggy", policy)
        (self.agent,) = settle(self, EpisodicMemory, 1, Thinker, name, reasoning)

    def step(self):
        self.agents.shuffle_do("step")


@pytest.mark.timeout(600)
@in_turn(
    error=[Slip("mine"), KeyError("mine"), OSError("mine")],
    reasoning=[CoTReasoning, ReActReasoning, ReWOOReasoning],
)
def test_a_bug_in_a_policy_ends_the_step_as_the_error_that_it_is(reasoning, error):
    room = Room(fails(error), reasoning)
    with pytest.raises(type(error), match="mine") as raised:
        room.step()
    assert raised.value is error


@pytest.mark.timeout(600)
@pytest.mark.parametrize("wrapped", [False, True])
async def test_a_bug_in_a_policy_ends_an_asynchronous_step(wrapped):
    room = Room(fails(Slip("mine")))
    if wrapped:
        arrange_prompts(room.agent)
    with pytest.raises(Slip, match="mine"):
        await room.agent.astep()


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("llm", "error", "match"),
    [
        ("offline/buggy", TypeError, "buggy"),
        ("offline/typo", LookupError, "register_policy"),
    ],
    ids=["answers nothing", "nobody registered it"],
)
def test_a_policy_that_gives_no_answer_ends_the_step(llm, error, match):
    room = Room(lambda turn: None)
    room.agent.llm.llm_model = llm
    with pytest.raises(error, match=match):
        room.step()


class Equal:
    """Equal to all others of its class, and of one hash."""

    def __eq__(self, other):
        return type(other) is type(self)

    def __hash__(self):
        return 7


class Hashless:
    """Has no hash, as a dataclass has none."""

    __hash__ = None

    def __eq__(self, other):
        return type(other) is type(self)


class AsData:
    """Made a dataclass, which gives it ``__eq__`` and takes its hash."""


@pytest.mark.parametrize("kind", [Equal, Hashless, AsData])
def test_models_that_are_equal_share_nothing(tmp_path, kind):
    class Town(kind, mesa.Model):
        def __init__(self, record=None, rng=None):
            mesa.Model.__init__(self, rng=rng)
            configure(self, llm="offline", record=record)
            for agent in settle(self, STLTMemory, 2):
                agent.name = f"{record and 'Ada'} {agent.unique_id}"

        def step(self):
            for agent in self.agents:
                agent.send_message("The mill is open.", list(self.agents))
                agent.memory.process_step()

    made = dataclasses.dataclass(init=False)(Town) if kind is AsData else Town
    file = tmp_path / "run.sqlite"
    one, two = made(file, rng=1), made(rng=1)
    assert Services.of(one) is not Services.of(two)
    for _ in range(2):
        one.step()
    assert Services.of(two).ledger.total.calls == 0 and not recorder_of(two)
    assert "Ada" in one.agents[0].memory.get_prompt_ready()
    two.step()
    assert "Ada" not in two.agents[0].memory.get_prompt_ready()
    close(one)
    again = resume(made, file)
    assert again.steps == 2 and "Ada" in again.agents[0].memory.get_prompt_ready()
    close(again)
    gone = weakref.ref(one)
    del one
    gc.collect()
    assert gone() is None


def recorder_of(model):
    return Services.of(model).recorder
