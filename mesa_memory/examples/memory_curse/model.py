"""Two players of the prisoner's dilemma, who know each other by their memory alone.

After "The Memory Curse" (arXiv 2605.08060), in which longer histories made most language
models cooperate less, and histories rewritten into cooperation did not.
"""

import os
from functools import partial
from typing import Any

from mesa import Model
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import ShortTermMemory, configure, register_policy
from mesa_memory.examples.memory_curse import decision
from mesa_memory.examples.memory_curse.decision import COOPERATE, DEFECT
from mesa_memory.experiments import draw, placebo
from mesa_memory.memories import registry

#: chance that a player does the other act than it wanted to
SLIP = 0.02
LONG = partial(ShortTermMemory, n=80)
#: the memories of the example by name
OWN = {
    "window_2": partial(ShortTermMemory, n=2),
    "window_80": LONG,
    "sanitised_80": placebo(LONG, rewrite=decision.sanitised),
}


class Prisoner(LLMAgent):
    """Cooperates or defects; see ``MemoryCurse`` for the arguments."""

    def __init__(
        self, model: Any, memory: str, llm_model: str, api_base: str | None
    ) -> None:
        super().__init__(
            model,
            CoTReasoning,  # Mesa-LLM wants one; act() asks the model itself
            llm_model,
            system_prompt=decision.SYSTEM,
            api_base=api_base,
        )
        self.memory = registry.find(memory, OWN)(self)

    def act(self) -> str:
        """The act of this round, which is a slip now and then."""
        asked = decision.prompt(self.memory.get_prompt_ready())
        said = self.llm.generate(prompt=asked).choices[0].message.content or ""
        defects = DEFECT in said.lower()
        slips = draw(self, "slip").random() < SLIP
        return DEFECT if defects != slips else COOPERATE


class MemoryCurse(Model):
    """Two players who choose at the same time, once in each step.

    Args:
        memory: of both, by name: ``"window_2"`` and ``"window_80"`` keep 2 and 80 rounds,
            ``"sanitised_80"`` shows 80 in which everybody has cooperated.
        llm: ``"offline"`` (a grudging rule, no key), or ``"provider/model"``.
        api_base: address of the provider, for self-hosted models.
        rng: seed.
        record, replay: see ``mesa_memory.configure``.

    Attributes:
        rounds: the acts of both players in each round.
    """

    own_memories = OWN

    def __init__(
        self,
        memory: str = "window_80",
        llm: str = "offline",
        api_base: str | None = None,
        rng: Any = None,
        record: Any = None,
        replay: Any = None,
    ) -> None:
        super().__init__(rng=rng)
        offline = "offline" if llm == "offline" else None
        configure(self, llm=offline, record=record, replay=replay)
        if offline:
            llm = register_policy("grudge", decision.reply)
        if replay is not None:  # Mesa-LLM wants a key, although no model is asked
            provider = llm.partition("/")[0].upper()
            os.environ.setdefault(f"{provider}_API_KEY", "none-needed")
        self.players = [Prisoner(self, memory, llm, api_base) for _ in range(2)]
        self.rounds: list[list[str]] = []

    def step(self) -> None:
        """One round: both act, then both remember it."""
        acts = [player.act() for player in self.players]
        for player, own, other in zip(self.players, acts, reversed(acts)):
            told = decision.event(self.steps, own, other)
            player.memory.add_to_memory("round", {"text": told})
            player.memory.process_step()
        self.rounds.append(acts)

    @property
    def cooperation(self) -> float:
        """The share of acts of all rounds that were cooperative."""
        acts = [act for both in self.rounds for act in both]
        return acts.count(COOPERATE) / len(acts) if acts else 0.0

    def get_state(self) -> dict[str, Any]:
        """The state of the game besides its memories; see ``mesa_memory.resume``."""
        return {"rounds": self.rounds}

    def set_state(self, state: dict[str, Any]) -> None:
        """Takes up a ``get_state``."""
        self.rounds = [list(acts) for acts in state["rounds"]]
