"""A council whose members vote and speak; in one step a member refuses, and has a reason."""

from functools import partial

import mesa
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import EpisodicMemory, configure, register_policy
from mesa_memory.llm import ToolCall

#: who refuses, when, because of what it heard the step before
REFUSER, REFUSAL = 11, 8
REASON = "Member 4 burned the bridge at the mill <img src=x onerror=alert(1)>"
TOLD = f"Member 9 to you: {REASON}"
REFUSES = "No: member 4 burned the bridge at the mill, so I do not sign."
SIGNS = "Yes, I sign."
#: so that what was heard in the last step is recalled
GRADED_EACH_STEP = partial(EpisodicMemory, grade_together=1)
SMALL_TALK = (
    "The harvest is late.",
    "Geese walk on the road.",
    "Bread is dear in town.",
    "My roof needs new tiles.",
)


def answer(turn):
    """Refuses to sign if the memory in the question has the reason."""
    if turn.tools:
        said = {"listener_agents_unique_ids": [1], "message": turn.prompt}
        return [ToolCall("speak_to", said)]
    if "Do you sign" in turn.prompt:
        return REFUSES if "burned the bridge" in turn.prompt else SIGNS
    return "I tell member 1 how I voted."


class Member(LLMAgent):
    """Says good morning, votes with its memory in the question, then plans what to say."""

    def step(self):
        self.memory.process_step(pre_step=True)
        before = self.memory.get_prompt_ready()
        heard = {"message": SMALL_TALK[self.model.steps % 4], "sender": 3}
        if (self.unique_id, self.model.steps) == (REFUSER, REFUSAL - 1):
            heard = {"message": REASON, "sender": 9}
        self.memory.add_to_memory("message", heard)
        self.llm.generate(f"{before}\n\nGood morning.", purpose="welcome")
        memory = self.memory.get_prompt_ready()
        asked = f"{memory}\n\nDo you sign the treaty with member 4?"
        self.llm.generate(asked, purpose="vote")
        if self.unique_id == REFUSER:
            self.apply_plan(self.reasoning.plan(prompt="What do you do?"))
        self.memory.process_step()


class Council(mesa.Model):
    """Twelve members, offline.

    Args:
        record: file of the run.
        memory: makes a member's memory.
    """

    def __init__(self, record=True, memory=GRADED_EACH_STEP):
        super().__init__(rng=1)
        configure(self, llm="offline", record=record)
        name = register_policy("member", answer)
        for number in range(1, 13):
            member = Member(self, CoTReasoning, name, step_prompt="Act.", vision=0)
            member.name = f"Member {number}"
            member.memory = memory(member)

    def step(self):
        self.agents.do("step")
