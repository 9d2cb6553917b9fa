"""The town of the rumour with people who plan by Mesa-LLM's CoT, and long prompts.

The example's own prompts are shorter than the 1,024 tokens below which no provider caches,
so these people also get rules of the town and tools.
"""

from typing import Any

from mesa_llm.reasoning.cot import CoTReasoning
from mesa_llm.reasoning.reasoning import Observation

from mesa_memory import arrange_prompts
from mesa_memory.examples.rumor import conversation
from mesa_memory.examples.rumor.agents import Townsperson
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.llm import ToolCall
from mesa_memory.llm.doubles.policy import PolicyInput

RULES = """
The town lies in a valley between two hills, and has a market square, a mill, a smithy, a
tavern, a school, a church with a tower, and some forty houses along three streets. The
river comes from the northern hill, passes the mill, and leaves the town under the old
bridge. Most people draw their water from the well on the market square; those by the
river have pumps of their own. There is no doctor nearer than a day's ride.

A step is a day. People work in the morning: the miller grinds, the smith shoes horses,
farmers are in the fields, the teacher is at the school. At noon they eat at home. In the
afternoon they meet one neighbour, talk, and go home before the tower clock strikes nine.
On Saturdays there is a market, to which farmers of the villages around bring bread,
salt, cloth, geese and news. On Sundays nobody works. Once a year, at the end of harvest,
there is a supper in the long hall for everybody.

How people talk here. They greet each other by name. They tell what they have seen with
their own eyes as something they have seen, and what they were told as something they
were told, and by whom, and on which day. They do not make things up, and do not repeat
a tale as the truth when they know that it was denied. Somebody who learns that what he
told was wrong says so to those whom he told it. News is worth telling for about ten
days; after that it is old. Where there is no news they talk about the weather, the
harvest, the price of salt, the children, or the geese. Nobody speaks for longer than two
sentences at a time, and nobody shouts. What is told in confidence is not passed on.

What the town has agreed on. Water is shared, and whoever finds that something is wrong
with it tells the mayor at once. Whoever breaks something mends it. Debts are paid at the
end of harvest. A promise that was made before a witness holds. Strangers may stay for
three nights at the tavern, and are asked where they come from and what they have heard.
Quarrels are brought before the mayor, who hears both sides on the next Monday. The
bridge is closed to carts after heavy rain, until the carpenter has looked at it.

What to weigh. Your health and that of your family come first, then that of your
neighbours, then your work. A warning that may be true is worth more than small talk. An
account of somebody who was there is worth more than one that has passed through many
mouths; three people who were told by the same person are one witness, not three. If two
accounts contradict each other, the one that names who tested what, and when, is worth
more. It is no shame to say that you do not know.

How to plan. Say first what is new today, then what you remember of it, then what you
could do and what might come of it. Choose one thing to do. You may speak to the person
whom you meet; all other people are too far away. If there is nothing worth saying, keep
silent and go on with your work.
""".strip()


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
