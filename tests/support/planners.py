"""A village whose people plan with Mesa-LLM's reasoning, offline, with their requests kept."""

import mesa
from mesa_llm.llm_agent import LLMAgent

from mesa_memory import Services, arrange_prompts, configure, register_policy
from mesa_memory.llm import ToolCall
from mesa_memory.memories.registry import find
from tests.support.single import Asked

TASK = "Live your day in the village, and tell your neighbours what is new."


def decide(turn):
    """Thinks aloud; what is to be said is said by the model's step."""
    if turn.fields:
        return {"reasoning": "It is a quiet day.", "action": "wait"}
    if turn.tools:
        return [
            ToolCall("speak_to", {"listener_agents_unique_ids": [1], "message": "hm"})
        ]
    return "It is a quiet day."


class Planner(LLMAgent):
    """Plans in each step, and tells the next one something that was never said."""

    def step(self):
        self.reasoning.plan()
        people = list(self.model.agents)
        other = people[(people.index(self) + 1) % len(people)]
        self.send_message(
            f"On day {self.model.steps} agent {self.unique_id} found "
            f"{7 * self.model.steps + self.unique_id} shells by the old mill.",
            [other],
        )


class Village(mesa.Model):
    """Agents of one memory and one reasoning.

    Args:
        arranged: whether ``arrange_prompts`` is called.
    """

    def __init__(
        self, memory, reasoning, arranged=True, n=3, record=None, persona="", **given
    ):
        super().__init__(rng=1)
        self.client = Asked()
        configure(self, llm=self.client, execution="blocking", record=record)
        name = register_policy("planner", decide)
        for number in range(n):
            agent = Planner(
                self,
                reasoning,
                name,
                system_prompt=f"You are villager {number}.\n{persona}",
                step_prompt=TASK,
                vision=-1,
            )
            agent.memory = find(memory)(agent, **given)
            if arranged:
                arrange_prompts(agent)

    def step(self):
        self.agents.do("step")

    def lived(self, steps):
        """Itself, some steps later."""
        for _ in range(steps):
            self.step()
        Services.of(self).flush()
        return self

    @property
    def planned(self):
        """The requests with which agents reason."""
        asked = [r for r in self.client.asked if r.purpose == "reasoning"]
        return [r for r in asked if "executor" not in r.system]

    def of_agent(self, unique_id=1):
        """An agent's planning requests, oldest first."""
        return [r for r in self.planned if r.agent == unique_id]


def text_of(request):
    """All that a request says, in order."""
    return "\n".join(message["content"] or "" for message in request.messages())
