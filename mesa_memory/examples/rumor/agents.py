"""The people of the town."""

from mesa.discrete_space import FixedAgent
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import wrap
from mesa_memory.examples.rumor import talk
from mesa_memory.examples.rumor.hearsay import SAYINGS, Opinion
from mesa_memory.memory.base import MemoryModule


class NoMemory(MemoryModule):
    layer = "none"


class Townsperson(LLMAgent, FixedAgent):
    def __init__(self, model, cell, make_memory, llm_model, api_base):
        super().__init__(
            model,
            CoTReasoning,
            llm_model,
            api_base=api_base,
            step_prompt="Talk to the people you meet; tell them the news you believe.",
        )
        self.cell = cell
        self.memory = make_memory(self)
        wrap(self)

    def hear(self, what):
        day = self.model.steps
        self.memory.add_to_memory(
            "news", {"text": f"News of day {day}: {SAYINGS[what]}."}
        )

    def opinion(self):
        return Opinion.read(self.memory.get_prompt_ready())

    def step(self):
        neighbours = list(self.cell.neighborhood.agents)
        other = self.random.choice(neighbours)
        self.memory.add_to_memory(
            "observation", {"local_state": {f"Agent {other.unique_id}": "met"}}
        )
        response = self.llm.generate(
            prompt=talk.PROMPT.format(
                day=self.model.steps,
                other=other.unique_id,
                memory=self.memory.get_prompt_ready(),
            ),
            system_prompt=talk.SYSTEM.format(name=self.unique_id),
        )
        text = response.choices[0].message.content
        if text and text != talk.NOTHING:
            self.send_message(text, [other])
