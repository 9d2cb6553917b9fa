"""Models whose agents ask a provider themselves, in every way that Mesa-LLM has."""

import asyncio
import json

import mesa
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning
from mesa_llm.reasoning.react import ReActReasoning
from mesa_llm.reasoning.rewoo import ReWOOReasoning

from mesa_memory import ShortTermMemory, configure
from tests.support.behaviours import Behaviour, default_answer
from tests.support.openai_server import OpenAIServer
from tests.support.single import settle

REASONINGS = {"cot": CoTReasoning, "react": ReActReasoning, "rewoo": ReWOOReasoning}


def answer(received):
    """Words for an agent, and what the memories want."""
    if '"action"' in json.dumps(received.body.get("response_format") or ""):
        return json.dumps({"reasoning": "It is a quiet day.", "action": "greet 1"})
    if "Which way" in received.prompt:
        return "detour" if "bridge is broken" in received.prompt else "bridge"
    return default_answer(received)


def behave(received):
    """Calls the tool ``speak_to`` where it may be called."""
    tools = [tool["function"]["name"] for tool in received.body.get("tools") or ()]
    if "speak_to" not in tools or received.body.get("tool_choice") == "none":
        return None
    said = {"listener_agents_unique_ids": [1], "message": f"hello {received.chars}"}
    function = {"name": "speak_to", "arguments": json.dumps(said)}
    call = {"id": "call-1", "type": "function", "function": function}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    body = {
        "id": "1", "object": "chat.completion", "created": 1, "model": "test",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    }  # fmt: skip
    return Behaviour.raw(json.dumps(body).encode())


def provider(**given):
    """A provider that agents and memories ask."""
    return OpenAIServer(answer, behave=behave, **given)


class Decider(LLMAgent):
    """Plans, acts, and asks its model directly once more."""

    def step(self):
        plan = self.reasoning.plan(selected_tools=self.model.tools)
        self.apply_plan(plan)
        self.said = self.llm.generate("Say something.", purpose="talk")

    async def astep(self):
        await self.apre_step()
        plan = await self.reasoning.aplan(selected_tools=self.model.tools)
        await self.aapply_plan(plan)
        self.said = await self.llm.agenerate("Say something.", purpose="talk")
        await self.apost_step()


class Deciders(mesa.Model):
    """Agents of one reasoning and one memory that ask a server.

    Args:
        base: address of the server.
        reasoning: a key of ``REASONINGS``.
        mode: ``"sync"``, ``"asyncio"`` or ``"threads"``.
        says: whether its agents may speak to each other within a step.
        services: arguments of ``configure``; None does not call it.
    """

    def __init__(
        self, base, reasoning="cot", mode="sync", memory=ShortTermMemory, n=3,
        services=None, record=None, rng=1, says=True,
    ):  # fmt: skip
        super().__init__(rng=rng)
        self.mode, self.tools = mode, None if says else []
        if services is not None:
            configure(self, **services, record=record)
        told = {"step_prompt": "Greet.", "api_base": base}
        settle(self, memory, n, Decider, "openai/test", REASONINGS[reasoning], **told)

    def step(self):
        if self.mode == "sync":
            self.agents.shuffle_do("step")
        else:
            asyncio.run(self._together())

    async def _together(self):
        if self.mode == "asyncio":
            await asyncio.gather(*(agent.astep() for agent in self.agents))
        else:
            # As Mesa-LLM's threads do: each agent in an event loop of its own.
            await asyncio.gather(
                *(asyncio.to_thread(asyncio.run, a.astep()) for a in self.agents)
            )
