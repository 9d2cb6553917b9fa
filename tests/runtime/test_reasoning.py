"""Agents that reason offline, and reasoning through the memory's client."""

import asyncio
from functools import partial

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning
from mesa_llm.reasoning.react import ReActReasoning
from mesa_llm.reasoning.rewoo import ReWOOReasoning

from mesa_memory import (
    EpisodicMemory,
    LLMRejected,
    Services,
    ShortTermMemory,
    arrange_prompts,
    configure,
    open_run,
    register_policy,
)
from mesa_memory.llm import ToolCall
from tests.support.openai_server import OpenAIServer
from tests.support.planners import Village
from tests.support.single import settle


def decide(turn):
    """Greets agent 2 once a tool may be used; else thinks aloud."""
    if "speak_to" in turn.tools:
        return [
            ToolCall("speak_to", {"listener_agents_unique_ids": [2], "message": "hi"})
        ]
    return "I greet my neighbour."


def pair(reasoning, name="greeter"):
    """A model with two agents that share a policy."""
    model = mesa.Model(rng=1)
    llm_model = register_policy(name, decide)
    return settle(
        model,
        ShortTermMemory,
        2,
        name=llm_model,
        reasoning=reasoning,
        step_prompt="Greet.",
    )


@pytest.mark.parametrize("wrapped", [False, True], ids=["plain", "wrapped"])
@pytest.mark.parametrize("reasoning", [CoTReasoning, ReActReasoning, ReWOOReasoning])
def test_an_agent_reasons_and_acts_without_a_key(reasoning, wrapped, monkeypatch):
    monkeypatch.delenv("OFFLINE_API_KEY", raising=False)
    first, second = pair(reasoning)
    if wrapped:
        arrange_prompts(first)
    plan = first.reasoning.plan()
    first.apply_plan(plan)
    assert "Agent 1 to you: hi" in second.memory.get_prompt_ready()
    assert "I greet my neighbour." in first.memory.get_prompt_ready()


def test_wrapped_reasoning_is_in_the_ledger_and_wrapping_twice_is_wrapping_once():
    first, _ = pair(CoTReasoning)
    assert arrange_prompts(first) is arrange_prompts(first)
    first.reasoning.plan()
    usage = Services.of(first.model).ledger.by("purpose", "agent", "model")
    assert {key: used.calls for key, used in usage.items()} == {
        ("reasoning", 1, "offline/greeter"): 2
    }


def test_tools_and_system_prompt_reach_a_real_endpoint():
    with OpenAIServer() as server:
        model = mesa.Model(rng=1)
        (agent,) = settle(
            model, ShortTermMemory, name="openai/x", system_prompt="Be kind.",
            step_prompt="Go.", api_base=server.base,
        )  # fmt: skip
        arrange_prompts(agent)
        agent.reasoning.plan(selected_tools=["speak_to"])
        thinking, acting = server.log
        assert "Be kind." in thinking.system
        assert thinking.body["tool_choice"] == "none"
        assert acting.body["tools"][0]["function"]["name"] == "speak_to"


def test_a_wrapped_agent_without_a_model_name_is_rejected():
    first, _ = pair(CoTReasoning)
    arrange_prompts(first).llm_model = ""
    with pytest.raises(LLMRejected, match="names no model"):
        first.reasoning.plan()


@pytest.mark.parametrize("reasoning", [CoTReasoning, ReActReasoning, ReWOOReasoning])
def test_an_arranged_request_is_as_mesa_llm_makes_it(reasoning, monkeypatch):
    seen = []
    village = Village("stlt", reasoning)
    agent = village.agents[0]
    make = type(agent.llm.inner)._build_messages
    monkeypatch.setattr(
        type(agent.llm.inner),
        "_build_messages",
        lambda self, *given: seen.append(make(self, *given)) or seen[-1],
    )
    village.lived(3)
    sent = [list(r.messages()) for r in village.planned]
    assert [m for m in seen if "executor" not in m[0]["content"]] == sent


class Curious(LLMAgent):
    """Plans for a question, and for its task."""

    def step(self):
        self.reasoning.plan(prompt=QUESTION)
        self.reasoning.plan(prompt=self.step_prompt)

    async def both(self):
        await self.reasoning.aplan(QUESTION)
        await self.reasoning.aplan()


QUESTION = "Who has the key of the mill?"


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("reasoning", [CoTReasoning, ReActReasoning, ReWOOReasoning])
def test_a_plan_for_a_question_is_shown_what_answers_it(reasoning, awaited, tmp_path):
    model = mesa.Model(rng=1)
    configure(model, llm="offline", execution="blocking", record=str(tmp_path / "r"))
    name = register_policy("curious", decide_fields)
    memory = partial(EpisodicMemory, considered_entries=1, importance="offline")
    given = {"reasoning": reasoning, "step_prompt": "Live your day."}
    (agent,) = settle(model, memory, cls=Curious, name=name, **given)
    arrange_prompts(agent)
    for said in ("Bo has the key of the mill.", "I am looking forward to the feast."):
        agent.memory.add_to_memory("message", {"message": said, "sender": 9})
    agent.memory.process_step()
    asyncio.run(agent.both()) if awaited else agent.step()
    Services.of(model).recorder.close()
    recalls = open_run(tmp_path / "r").recalls().query("purpose == 'prompt'")
    asked = recalls[recalls["query"] == QUESTION]
    assert set(asked["text"]) == {"Agent 9 says: Bo has the key of the mill."}
    assert len(asked) < len(recalls), "the task is no question"


def decide_fields(turn):
    """Thinks aloud, in the form that is asked for."""
    fields = dict.fromkeys(turn.fields, "I wait.")
    return fields or "I wait."
