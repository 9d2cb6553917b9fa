"""What goes wrong in a user's own function is said at once, and as the user's error."""

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning
from mesa_llm.reasoning.react import ReActReasoning
from mesa_llm.reasoning.rewoo import ReWOOReasoning

from mesa_memory import EpisodicMemory, arrange_prompts, configure, register_policy


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
    def __init__(self, policy, reasoning=CoTReasoning, rng=None):
        super().__init__(rng=rng)
        configure(self, llm="offline")
        self.agent = Thinker(self, reasoning, register_policy("buggy", policy))
        self.agent.memory = EpisodicMemory(self.agent)

    def step(self):
        self.agents.shuffle_do("step")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("error", [Slip("mine"), KeyError("mine"), OSError("mine")])
@pytest.mark.parametrize("reasoning", [CoTReasoning, ReActReasoning, ReWOOReasoning])
def test_a_bug_in_a_policy_ends_the_step_as_the_error_that_it_is(reasoning, error):
    room = Room(fails(error), reasoning, rng=1)
    with pytest.raises(type(error), match="mine") as raised:
        room.step()
    assert raised.value is error


@pytest.mark.timeout(600)
@pytest.mark.parametrize("wrapped", [False, True])
async def test_a_bug_in_a_policy_ends_an_asynchronous_step(wrapped):
    room = Room(fails(Slip("mine")), rng=1)
    if wrapped:
        arrange_prompts(room.agent)
    with pytest.raises(Slip, match="mine"):
        await room.agent.astep()


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("llm", "error", "match"),
    [("offline/buggy", TypeError, "buggy"), ("offline/typo", LookupError, "typo")],
    ids=["answers nothing", "nobody registered it"],
)
def test_a_policy_that_gives_no_answer_ends_the_step(llm, error, match):
    room = Room(lambda turn: None, rng=1)
    room.agent.llm.llm_model = llm
    with pytest.raises(error, match=match):
        room.step()
