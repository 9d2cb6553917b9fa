"""The players: they say a name, hear another one, and remember both."""

from typing import Any

from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import ShortTermMemory
from mesa_memory.examples.naming_game import decision
from mesa_memory.experiments import draw


class Player(LLMAgent):
    """Says a name to its neighbours.

    Args:
        model: the game.
        depth: how many of its own rounds it remembers, at least 1.
        llm_model, api_base: whom it asks for a name, see Mesa-LLM.

    Attributes:
        said: the name that it said last; None before its first round.
    """

    def __init__(
        self, model: Any, depth: int, llm_model: str, api_base: str | None
    ) -> None:
        super().__init__(
            model,
            CoTReasoning,  # Mesa-LLM wants one; choose() asks the model itself
            llm_model,
            system_prompt=decision.SYSTEM,
            api_base=api_base,
        )
        self.memory = ShortTermMemory(self, n=depth)
        self.said: str | None = None

    def choose(self) -> str:
        """The name to say now; a reply without a name is the first one of the list."""
        order = draw(self, "names").permutation(len(decision.NAMES))
        names = [decision.NAMES[place] for place in order]
        asked = decision.prompt(self.memory.get_prompt_ready(), names)
        answer = self.llm.generate(prompt=asked).choices[0].message.content or ""
        return next((name for name in names if name in answer.lower()), names[0])

    def hear(self, other: str) -> None:
        """Remembers the round in which a neighbour said ``other``."""
        told = decision.event(self.model.steps, str(self.said), other)
        self.memory.add_to_memory("round", {"text": told})
        self.memory.process_step()

    @property
    def certain(self) -> bool:
        """True if its memory shows one name only, the one that it said."""
        rounds = decision.remembered(self.memory.get_prompt_ready())
        return {name for played in rounds for name in played} == {self.said}
