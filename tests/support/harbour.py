"""A harbour of four people in eight steps, as one language model has once played it.

A debt is paid in two parts, a lie is admitted, a secret is kept and told, a meeting is
moved, a price is cut, two accuse each other. What people say is the plot; what they
answer when they are asked, and what their memories are answered, is what the model said.
"""

import os
from collections.abc import Callable, Sequence
from typing import Any, Self

os.environ.setdefault("OPENAI_API_KEY", "none")  # Mesa-LLM wants one for each agent

import mesa
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import (
    ConversationMemory,
    EpisodicMemory,
    FactMemory,
    ImpressionMemory,
    LayeredMemory,
    LongTermMemory,
    NarrativeMemory,
    STLTMemory,
    configure,
    register_policy,
)
from mesa_memory.layers import Reflection
from tests.support.harbour_mind import Mind
from tests.support.single import table

MEMORIES: dict[str, Callable[[Any], Any]] = {
    "STLT": lambda agent: STLTMemory(agent, 2, 1),
    "LongTerm": LongTermMemory,
    "Episodic": lambda agent: EpisodicMemory(
        agent, reflection=Reflection.questions(2, 6, 2), reflect_threshold=25
    ),
    "Fact": FactMemory,
    "Impression": lambda agent: ImpressionMemory(agent, 2),
    "Conversation": lambda agent: ConversationMemory(agent, idle_steps=1),
    "Narrative": lambda agent: NarrativeMemory(agent, 4, 200, 2),
    "GenAgent": LayeredMemory.generative_agent,
}
#: how many steps were played, where not all eight were
STEPS = {"LongTerm": 5, "GenAgent": 6}
_PLOT = table("harbour_plot")
ROLES: dict[str, str] = _PLOT["roles"]
TASK = "Decide what you say and do in the harbour today."


class Harbour(mesa.Model):
    """The four people with one kind of memory.

    Args:
        memory: a key of ``MEMORIES``.
        **services: further arguments of ``configure``.

    Attributes:
        mind: the model that their memories ask.
        people: by name.
        heard: the names of all who said or heard a text.
        shown: what each was shown of its memory in the last step and after it.
        asked: (name, prompt, answer) of each question.
        last: the number of steps.
    """

    def __init__(self, memory: str, **services: Any) -> None:
        super().__init__(rng=1)
        self.mind, self.last = Mind(memory), STEPS.get(memory, 8)
        configure(self, **{"llm": self.mind, "execution": "blocking", **services})
        policy = register_policy("harbour", lambda turn: self.asked[-1][2])
        self.people: dict[str, Any] = {}
        for name, role in ROLES.items():
            person = LLMAgent(
                self, CoTReasoning, policy, system_prompt=role, step_prompt=TASK
            )
            person.name = name
            person.memory = MEMORIES[memory](person)
            self.people[name] = person
        self.heard: dict[str, set[str]] = {}
        self.shown: dict[str, list[str]] = {name: [] for name in ROLES}
        self.asked: list[tuple[str, str, str]] = []

    def live(self) -> Self:
        """All steps, and a look at each memory after them."""
        for _ in range(self.last):
            self.step()
        for name, person in self.people.items():
            self.shown[name].append(person.memory.get_prompt_ready())
        return self

    def step(self) -> None:
        """The lines of the plot; then each is asked, and its memory ends the step."""
        for step, who, hearers, said in _PLOT["plot"]:
            if step == self.steps:
                self.say(who, hearers, said)
        for name, person in self.people.items():
            person.memory.process_step(pre_step=True)
            for step, who, hearers, question in _PLOT["asked"]:
                if (step, who) == (self.steps, name):
                    self.say(who, hearers, self.ask(who, question))
            if self.steps == self.last:
                self.ask(name, _PLOT["last"].replace("STEP", str(self.steps)))
                self.shown[name].append(person.memory.get_prompt_ready())
            person.memory.process_step()

    def say(self, who: str, hearers: Sequence[str] | None, said: Any) -> None:
        """A message, to all others without hearers; an observation is a dict."""
        me = self.people[who]
        if isinstance(said, dict):
            me.memory.add_to_memory("observation", said)
            return
        to = [n for n in ROLES if n in (hearers or ROLES) and n != who]
        self.heard[said] = {who, *to}
        me.send_message(said, [self.people[name] for name in to])

    def ask(self, who: str, question: str) -> str:
        """Asks somebody who is shown its memory; answers as in the file."""
        me = self.people[who]
        prompt = f"{me.memory.get_prompt_ready()}\n\n{question}"
        answer = self.mind.decide(me.unique_id, self.steps, prompt, question)
        self.asked.append((who, prompt, answer))
        return me.llm.generate(prompt).choices[0].message.content
