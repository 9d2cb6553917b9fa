"""An agent that plans with tools and acts with actions."""

import inspect
import json
import warnings

from mesa.agent import Agent

from mesa_llm.actions import UNSET, ActionChoice, ActionManager, ActResult
from mesa_llm.memory.st_lt_memory import STLTMemory
from mesa_llm.module_llm import ModuleLLM
from mesa_llm.reasoning.reasoning import Observation, step_of
from mesa_llm.tools.tool_manager import ToolManager


class LLMAgent(Agent):
    def __init__(
        self,
        model,
        reasoning,
        llm_model="gemini/gemini-2.0-flash",
        fallback_model=None,
        system_prompt=None,
        step_prompt=None,
        api_base=None,
        tools=None,
        actions=None,
        internal_state=(),
    ):
        super().__init__(model)
        self.step_prompt = step_prompt
        self.llm = ModuleLLM(
            llm_model, api_base, system_prompt, fallback_model=fallback_model
        )
        self.memory = STLTMemory(self, llm_model, fallback_model)
        self._tool_manager = ToolManager(tools)
        self._action_manager = ActionManager(actions)
        self.internal_state = list(internal_state)
        self.reasoning = reasoning(self)

    @property
    def system_prompt(self):
        return self.llm.system_prompt

    @property
    def tool_manager(self):
        message = "`agent.tool_manager` is deprecated"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return self._tool_manager

    def generate_obs(self):
        own = {"agent_unique_id": self.unique_id, "internal_state": self.internal_state}
        content = {"self_state": own, "local_state": {}}
        self.memory.add_to_memory(type="observation", content=content)
        return Observation(step_of(self.model), own, {})

    # -- acting --

    def _choice(self, prompt, actions, system_prompt):
        allowed = self._action_manager.get_actions_schema(self, actions)
        if not allowed:
            raise ValueError("no actions are available")
        texts = [prompt] if isinstance(prompt, str) else list(prompt)
        first = f"Choose one of these actions, as JSON: {json.dumps(allowed)}"
        return {
            "prompt": [first, *texts],
            "tool_schema": None,
            "tool_choice": "none",
            "response_format": ActionChoice,
            "system_prompt": system_prompt,
            "suppress_thinking": True,
        }

    def choose_action(self, prompt, actions=UNSET, system_prompt=None):
        given = self._choice(prompt, actions, system_prompt)
        with self.llm._one_shot_completion():
            reply = self.llm.generate(**given)
        return ActionChoice(**json.loads(reply.choices[0].message.content))

    async def achoose_action(self, prompt, actions=UNSET, system_prompt=None):
        given = self._choice(prompt, actions, system_prompt)
        with self.llm._one_shot_completion():
            reply = await self.llm.agenerate(**given)
        return ActionChoice(**json.loads(reply.choices[0].message.content))

    def execute_action(self, action_choice, actions=UNSET):
        result = self._action_manager.execute(self, action_choice, actions)
        content = {"action": action_choice.model_dump(), "result": result}
        self.memory.add_to_memory(type="action", content=content)
        return result

    async def aexecute_action(self, action_choice, actions=UNSET):
        result = self._action_manager.execute(self, action_choice, actions)
        result = await result if inspect.isawaitable(result) else result
        content = {"action": action_choice.model_dump(), "result": result}
        await self.memory.aadd_to_memory(type="action", content=content)
        return result

    def act(self, prompt, actions=UNSET, system_prompt=None):
        choice = self.choose_action(
            prompt, actions=actions, system_prompt=system_prompt
        )
        return ActResult(choice, self.execute_action(choice, actions=actions))

    async def aact(self, prompt, actions=UNSET, system_prompt=None):
        choice = await self.achoose_action(
            prompt, actions=actions, system_prompt=system_prompt
        )
        return ActResult(choice, await self.aexecute_action(choice, actions=actions))

    def apply_plan(self, plan):
        """Carries out the calls of tools that a plan has."""
        answers = self._tool_manager.call_tools(self, plan.llm_plan)
        told = [{"name": a["name"], "response": a["response"]} for a in answers]
        self.memory.add_to_memory(type="action", content={"tool_calls": told})
        return answers

    # -- stepping --

    def __init_subclass__(cls, **given):
        super().__init_subclass__(**given)
        own = vars(cls).get("step")
        if own is None:
            return

        def step(self):
            self.memory.process_step(pre_step=True)
            result = own(self)
            self.memory.process_step()
            return result

        cls.step = step
