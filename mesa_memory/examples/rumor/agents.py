"""The people of the town."""

from contextlib import nullcontext
from typing import Any

from mesa.discrete_space import Cell, FixedAgent
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory.core.render import shorten
from mesa_memory.examples.rumor import conversation
from mesa_memory.examples.rumor.hearsay import BELIEFS, SAYINGS
from mesa_memory.examples.rumor.memories import OWN
from mesa_memory.examples.rumor.opinion import Opinion
from mesa_memory.experiments import draw
from mesa_memory.memories import registry

#: longest speech
SPEECH_CHARS = 300


class Townsperson(LLMAgent, FixedAgent):
    """Meets a neighbour each step and speaks from its memory.

    Args:
        model: the town.
        cell: where it lives.
        memory: name of its memory, or ``"module:class"``.
        llm_model, api_base: whom it asks for words, see Mesa-LLM.
    """

    def __init__(
        self, model: Any, cell: Cell, memory: str, llm_model: str, api_base: str | None
    ) -> None:
        super().__init__(
            model,
            CoTReasoning,  # Mesa-LLM wants one; step() asks the model itself
            llm_model,
            step_prompt="Talk to the people you meet and tell them the news.",
            api_base=api_base,
        )
        self.cell = cell
        self.memory = registry.find(memory, OWN)(self)
        self.system_prompt = conversation.system_prompt(self.unique_id)

    def learn(self, what: str) -> None:
        """News from outside, the rumour or the correction, reaches this person."""
        text = f"News of day {self.model.steps}: {SAYINGS[what]}."
        self.memory.add_to_memory("news", {"text": text})

    def opinion(self) -> Opinion:
        """The opinion of a reader of its memory."""
        # Mesa-LLM's own memories note no reads.
        with getattr(self.memory, "peek", nullcontext)():
            return Opinion.of(self.memory.get_prompt_ready(), self.unique_id)

    @property
    def belief(self) -> str | None:
        """Its belief at the end of the last step, in words; None if it had none."""
        asked = self.model.opinions.get(self.unique_id)
        return BELIEFS.get(asked.belief) if asked else None

    def step(self) -> None:
        """Meets a random neighbour and talks."""
        neighbours = sorted(self.cell.neighborhood.agents, key=lambda a: a.unique_id)
        other = neighbours[draw(self, "meeting").integers(len(neighbours))]
        seen = {f"Agent {other.unique_id}": "met"}
        self.memory.add_to_memory("observation", {"local_state": seen})
        words = self._words_for(other)
        if words.strip(" .").lower() not in ("", conversation.NOTHING):
            self.send_message(shorten(words, SPEECH_CHARS), [other])

    def _words_for(self, other: "Townsperson") -> str:
        memory = self.memory.get_prompt_ready()
        prompt = conversation.prompt(self.model.steps, other.unique_id, memory)
        response = self.llm.generate(prompt=prompt)
        return (response.choices[0].message.content or "").strip()
