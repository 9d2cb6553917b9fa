"""Plans, observations, and the step from a plan to calls of tools."""

from dataclasses import dataclass
from typing import Any


def step_of(model):
    """The number of a model's step, also where it has nothing but a time."""
    return int(getattr(model, "steps", model.time))


@dataclass
class Observation:
    step: int
    self_state: dict
    local_state: dict


@dataclass
class Plan:
    step: int
    llm_plan: Any
    ttl: int = 1
    tools: Any = None


class Reasoning:
    def __init__(self, agent):
        self.agent = agent

    def request(self, prompt, obs):
        """The arguments of the request that plans."""
        raise NotImplementedError

    def plan(self, prompt=None, obs=None, ttl=1, tools=None, tool_calls="auto"):
        agent = self.agent
        obs = obs or agent.generate_obs()
        given = self.request(prompt or agent.step_prompt, obs)
        manager = vars(agent).get("_tool_manager") or agent.tool_manager
        schema = manager.get_tools_schema(tools)
        reply = agent.llm.generate(tool_schema=schema, tool_choice="none", **given)
        text = reply.choices[0].message.content
        agent.memory.add_to_memory(type="plan", content={"content": text})
        reply = agent.llm.generate(
            prompt=text,
            tool_schema=schema,
            tool_choice=tool_calls,
            system_prompt="Carry out the plan with the tools, if it needs any.",
        )
        plan = Plan(step_of(agent.model), reply.choices[0].message, ttl, tools)
        content = {"content": str(plan.llm_plan.content or plan.llm_plan)}
        agent.memory.add_to_memory(type="plan_execution", content=content)
        return plan


class CoTReasoning(Reasoning):
    def request(self, prompt, obs):
        memory = self.agent.memory
        long_, short = memory.format_long_term(), memory.format_short_term()
        text = f"Long ago:\n{long_}\nLately:\n{short}\nNow:\n{obs}\nThink first."
        return {"prompt": prompt, "system_prompt": text}


class ReActReasoning(Reasoning):
    def request(self, prompt, obs):
        memory = self.agent.memory
        texts = [memory.get_prompt_ready(), f"Now:\n{obs}", prompt]
        return {"prompt": texts, "system_prompt": "Reason, then act."}


class ReWOOReasoning(CoTReasoning):
    """Plans several steps at once; later ones are carried out without another look."""

    def __init__(self, agent):
        super().__init__(agent)
        self.left = []

    def plan(self, *args, **given):
        if not self.left:
            plan = super().plan(*args, **given)
            self.left = list(plan.llm_plan.tool_calls or ())
            if not self.left:
                return plan
            self.known = plan
        call = self.left.pop(0)
        message = self.known.llm_plan.model_copy(update={"tool_calls": [call]})
        return Plan(step_of(self.agent.model), message, 1, self.known.tools)
