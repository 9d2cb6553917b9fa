"""The town of the rumour with people who plan by Mesa-LLM's CoT, and long prompts.

The example's own prompts are shorter than the 1,024 tokens below which no provider caches,
so these people also get rules of the town (``planning_town.txt``) and tools.
"""

from pathlib import Path
from typing import Any

from mesa_llm.reasoning.cot import CoTReasoning
from mesa_llm.reasoning.reasoning import Observation

from mesa_memory import arrange_prompts
from mesa_memory.examples.rumor import conversation
from mesa_memory.examples.rumor.agents import Townsperson
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.llm import ToolCall
from mesa_memory.llm.doubles.policy import PolicyInput

RULES = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").strip()


class Planner(Townsperson):
    """Plans what to say to a neighbour, and says it with a tool."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.reasoning = CoTReasoning(self)
        self.system_prompt = f"{self.system_prompt}\n\n{RULES}"
        arrange_prompts(self)

    def step(self) -> None:
        """Meets a random neighbour, looks around, plans and acts."""
        other = self.random.choice(list(self.cell.neighborhood.agents))
        seen = {f"Agent {other.unique_id}": "met"}
        self.memory.add_to_memory("observation", {"local_state": seen})
        day = self.model.steps
        prompt = f"It is day {day}. You meet Agent {other.unique_id}. What do you do?"
        own = {"agent_unique_id": self.unique_id, "day": day}
        self.apply_plan(self.reasoning.plan(prompt, Observation(day, own, seen)))


class PlanningTown(RumorModel):
    """The town, with people who plan."""

    person = Planner


def planned(turn: PolicyInput) -> Any:
    """What a person says, worked out as in the example: thought first, then done."""
    if "speak_to" in turn.tools:
        who, _, words = turn.prompt.rpartition("Say to Agent ")[2].partition(": ")
        given = {"listener_agents_unique_ids": [int(who)], "message": words.strip()}
        return [ToolCall("speak_to", given)]
    text = f"{turn.system}\n{turn.prompt}"
    day, other = text.rpartition("It is day ")[2].split(". You meet Agent ")
    situation = f"It is day {day}. You meet Agent {other.partition('.')[0]}."
    me = text.partition("You are Agent ")[2].partition(",")[0]
    asked = conversation.prompt(int(day), other.partition(".")[0], text)
    words = conversation.reply(PolicyInput(f"You are Agent {me},", asked))
    thought = f"{situation} I remember what I was told and weigh who said it."
    said = f"Say to Agent {other.partition('.')[0]}: {words}"
    if turn.fields:
        return {"reasoning": thought, "action": said}
    return f"Thought 1: {thought}\nThought 4: I say what is new.\nAction: {said}"
