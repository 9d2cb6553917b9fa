"""A street whose memories ask a provider; in its second step it stands still at the end.

python -m tests.support.paying FILE ADDRESS
"""

import sys
import time

import mesa
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import LongTermMemory, configure


class Paying(LLMAgent):
    """Notes what it sees."""

    def step(self):
        seen = {"view": f"day {self.model.steps} at door {self.unique_id}"}
        self.memory.add_to_memory("observation", seen)


class PayingStreet(mesa.Model):
    """Agents whose memory asks the model for a summary in each step."""

    def __init__(self, file="run.sqlite", base=None, n=3):
        super().__init__(rng=1)
        configure(self, record=file)
        for _ in range(n):
            agent = Paying(self, CoTReasoning, "openai/test", api_base=base)
            agent.memory = LongTermMemory(agent)

    def step(self):
        self.agents.do("step")
        for agent in self.agents:
            agent.memory.process_step()
            agent.memory.get_prompt_ready()


def main():
    """One step, and all but the end of another."""
    street = PayingStreet(*sys.argv[1:])
    street.step()
    print(street.steps, flush=True)
    last = street.agents[len(street.agents) - 1].memory
    read = last.get_prompt_ready

    def stand_still():
        read()
        print("asked", flush=True)
        time.sleep(3600)

    last.get_prompt_ready = stand_still
    street.step()


if __name__ == "__main__":
    main()
