"""Mesa-LLM's defects D18-D25: when things happened, and who may see them."""

import asyncio

import pytest
from mesa_llm import Observation, step_agents_parallel
from mesa_llm.reasoning.cot import CoTReasoning
from mesa_llm.reasoning.rewoo import ReWOOReasoning

from tests.support.models import (
    Citizen,
    StubLLM,
    Town,
    citizen,
    each,
    grades,
    live,
    ours,
    said,
)

NOTHING_SEEN = Observation(step=1, self_state={}, local_state={})


def day(agent):
    """The clock moves on, and the agent steps."""
    agent.model.step()
    agent.step()


@each("ShortTermMemory", "LongTermMemory")
def test_d18_a_message_is_in_the_prompt_of_the_very_next_step(make):
    agent, prompts = citizen(), []
    memory = make(agent, StubLLM())
    agent.doing = lambda agent: prompts.append(agent.memory.get_prompt_ready())
    day(agent)
    memory.add_to_memory(*said("the well is dry"))
    day(agent)
    assert "the well is dry" in prompts[1]


@pytest.mark.parametrize("reasoning", ["CoT", "ReWOO"])
@each("EpisodicMemory")
def test_d19_episodic_memory_reaches_the_prompts_of_all_reasonings(make, reasoning):
    agent = citizen()
    memory = make(agent, StubLLM(answer=grades(lambda _: 3)))
    live(memory, said("the code is 4711"))
    memory.agent.model.step()
    prompt = {
        "CoT": lambda: CoTReasoning(agent).get_cot_system_prompt(NOTHING_SEEN),
        "ReWOO": lambda: ReWOOReasoning(agent).get_rewoo_system_prompt(NOTHING_SEEN),
    }[reasoning]()
    assert "the code is 4711" in prompt


@each("STLTMemory")
def test_d20_no_prompt_speaks_of_a_step_none(make):
    agent, prompts = citizen(), []
    memory = make(agent, StubLLM())
    agent.doing = lambda agent: prompts.append(agent.memory.get_prompt_ready())
    for _ in range(2):
        day(agent)
        memory.add_to_memory(*said("hello"))
    day(agent)
    assert "None" not in "".join(prompts)
    assert "{}" not in "".join(prompts)


@each("ShortTermMemory", "STLTMemory")
def test_d21_a_message_keeps_the_step_at_which_it_arrived(make):
    agent = citizen()
    memory = make(agent, StubLLM())
    agent.model.step()
    memory.add_to_memory(*said("fire!"))
    for _ in range(4):
        agent.model.step()
    agent.step()
    assert "Step 1: Agent 7 to you: fire!" in memory.get_communication_history()
    assert "Step 5" not in memory.get_prompt_ready()


@ours("ShortTermMemory")
def test_d21_the_console_shows_the_entrys_own_step(make, capsys):
    agent = citizen()
    memory = make(agent, display=True)
    agent.model.step()
    memory.add_to_memory(*said("fire!"))
    for _ in range(4):
        agent.model.step()
    agent.step()
    shown = capsys.readouterr().out
    assert "fire!" in shown
    assert "Step 1" in shown


@each("ShortTermMemory", "STLTMemory")
def test_d22_events_of_different_kinds_keep_their_order(make):
    memory = make(citizen(), StubLLM())
    waved = {"tool_calls": [{"name": "wave", "response": "done"}]}
    live(memory, said("are you well?"), ("action", waved), said("thanks"))
    text = memory.format_short_term()
    order = [text.index(part) for part in ("are you well?", "wave", "thanks")]
    assert order == sorted(order)


class _Speaker(Citizen):
    """Tells the others what it knows, after a while."""

    async def astep(self):
        for _ in range(self.latency):
            await asyncio.sleep(0)
        others = [agent for agent in self.model.agents if agent is not self]
        text = f"greetings of agent {self.unique_id}, day {self.model.steps}"
        await self.asend_message(text, others)


async def _histories(make, latencies):
    """What two agents that step side by side have heard after three days."""
    town = Town()
    speakers = [_Speaker(town), _Speaker(town)]
    for speaker, speaker.latency in zip(speakers, latencies, strict=True):
        make(speaker, StubLLM())
    for _ in range(3):
        town.step()
        await step_agents_parallel(speakers)
    town.step()
    for speaker in speakers:
        await speaker.memory.aprocess_step(pre_step=True)
        await speaker.memory.aprocess_step()
    texts = [speaker.memory.get_communication_history() for speaker in speakers]
    return [sorted(filter(None, text.splitlines())) for text in texts]


@each("ShortTermMemory", "STLTMemory")
async def test_d23_latency_does_not_decide_when_something_was_heard(make):
    quick, slow = 1, 50  # rounds of the event loop
    first = await _histories(make, [quick, slow])
    assert len(first[0]) == len(first[1]) == 6
    assert await _histories(make, [slow, quick]) == first
