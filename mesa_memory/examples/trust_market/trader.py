"""The traders: they move, are asked for help, and tell what they met with."""

from typing import Any

from mesa.discrete_space import Cell, CellAgent
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory.examples.trust_market import decision
from mesa_memory.examples.trust_market.memories import OWN
from mesa_memory.experiments import draw
from mesa_memory.memories import registry

#: what help costs, and what it is worth to the other
COST, WORTH = 1, 5
#: how many people hear from somebody how a request was answered
LISTENERS = 2


class Trader(LLMAgent, CellAgent):
    """Helps, or refuses to.

    Args:
        model: the market.
        cell: where it stands.
        memory: name of its memory.
        fair: whether it helps whom it does not know to be a cheat; a cheat never helps.
        llm_model, api_base: whom the fair ask, see Mesa-LLM.

    Attributes:
        earned: in this season.
    """

    def __init__(
        self, model: Any, cell: Cell, memory: str, fair: bool, llm_model: str,
        api_base: str | None,
    ) -> None:  # fmt: skip
        super().__init__(
            model,
            CoTReasoning,  # Mesa-LLM wants one; answer() asks the model itself
            llm_model,
            api_base=api_base,
        )
        self.cell, self.fair, self.earned = cell, fair, 0
        self.memory = registry.find(memory, OWN)(self)

    @property
    def name(self) -> str:
        """Its name, which its heir does not have: those who come later are strangers."""
        return f"Trader {self.model.season * 1000 + int(self.unique_id)}"

    def move(self) -> None:
        """Goes to a free neighbouring place, if there is one."""
        free = [cell for cell in self.cell.neighborhood if cell.is_empty]
        if free:
            self.cell = free[draw(self, "move").integers(len(free))]

    def meet(self) -> None:
        """A neighbour asks for help; the answer is seen and told."""
        near = sorted(self.cell.neighborhood.agents, key=lambda a: a.unique_id)
        if not near:
            return
        asker = near[draw(self, "meeting").integers(len(near))]
        helped = self.answer(asker)
        if helped:
            self.earned -= COST
            asker.earned += WORTH
        self.model.answers.append(helped)
        told = decision.deed(self.model.steps, self.name, helped, asker.name)
        asker.memory.add_to_memory("deed", {"text": told})
        if not self.model.gossip:
            return
        for other in near:
            sees = draw(other, f"watching {self.unique_id}").random()
            if other is not asker and sees < self.model.watching:
                other.memory.add_to_memory("deed", {"text": told})
        asker.tell(told)

    def answer(self, asker: "Trader") -> bool:
        """True if it helps; the fair look into their memory."""
        if not self.fair:
            return False
        self.system_prompt = decision.SYSTEM.format(name=self.name)
        asked = decision.prompt(self.memory.get_prompt_ready(), asker.name)
        said = self.llm.generate(prompt=asked).choices[0].message.content or ""
        return decision.REFUSE not in said.lower()

    def tell(self, told: str) -> None:
        """Tells a few people of the market."""
        others = sorted(self.model.agents, key=lambda a: a.unique_id)
        others.remove(self)
        number = min(LISTENERS, len(others))
        chosen = draw(self, f"gossip {told}").choice(len(others), number, replace=False)
        self.send_message(told, [others[i] for i in chosen])
