"""The town: its people, their neighbours, and the days of the news.

All chance has an address (``mesa_memory.experiments.draw``): with one seed, towns with different
memories have the same streets, the same first people, the same order and the same meetings
on every day, so that what differs in the end is due to the memories alone.
"""

from typing import Any

import networkx as nx
from mesa import DataCollector, Model
from mesa.discrete_space import Network

from mesa_memory import configure, metrics, register_policy
from mesa_memory.core.validate import checked_int
from mesa_memory.examples.rumor import conversation, memories
from mesa_memory.examples.rumor.agents import Townsperson
from mesa_memory.examples.rumor.hearsay import CORRECTION, RUMOUR
from mesa_memory.examples.rumor.opinion import Opinion
from mesa_memory.experiments import draw

#: share of a ring's ties that lead across the town (small world)
REWIRED = 0.1


class RumorModel(Model):
    """A rumour starts on day 1, its correction some days later, with one person each.

    Args:
        n_agents: how many people, at least 3.
        memory: everyone's memory: one of ``MEMORIES``, one that an installed package
            offers by name, or ``"module:class"``.
        llm: ``"offline"`` (no key, no network) or ``"provider/model"``, which then
            speaks for the people and works for their memories.
        correction_step: when the correction comes; None for never.
        degree: how many neighbours a person has on average, at least 2.
        api_base: address of the provider, for self-hosted models.
        execution: see ``mesa_memory.configure``.
        rng: seed.
        record, replay: see ``mesa_memory.configure``.

    Attributes:
        opinions: of each person, by unique id, at the end of the step.
        own_memories: the example's own memories by name.

    Raises:
        ValueError: for a number too small, an unknown memory, a model's name without
            provider, or a missing API key.
    """

    own_memories = memories.OWN

    def __init__(
        self,
        n_agents: int = 30,
        memory: str = "stlt",
        llm: str = "offline",
        correction_step: int | None = 10,
        degree: int = 4,
        api_base: str | None = None,
        execution: str | None = None,
        rng: Any = None,
        record: Any = None,
        replay: Any = None,
    ) -> None:
        super().__init__(rng=rng)
        checked_int("n_agents", n_agents, 3)
        checked_int("degree", degree, 2)
        if correction_step is not None:
            checked_int("correction_step", correction_step)
        self.correction_step = correction_step
        # Otherwise the memories ask the people's own model.
        offline = "offline" if llm == "offline" else None
        services = {"execution": execution, "record": record, "replay": replay}
        configure(self, llm=offline, outcomes=("belief",), **services)
        if offline:
            llm = register_policy("rumor", conversation.reply)
        self.grid = self._town(n_agents, degree)
        for cell in self.grid.all_cells:
            Townsperson(self, cell, memory, llm, api_base)
        people = list(self.agents)
        first = draw(self, "sources").choice(len(people), 2, replace=False)
        self.sources = {what: people[n] for what, n in zip((RUMOUR, CORRECTION), first)}
        self.opinions: dict[int, Opinion] = {}
        self.datacollector = DataCollector(_reporters())
        self._collect()

    def step(self) -> None:
        """One day: news may come in, everyone meets a neighbour, opinions are asked."""
        if self.steps == 1:
            self.sources[RUMOUR].learn(RUMOUR)
        if self.steps == self.correction_step:
            self.sources[CORRECTION].learn(CORRECTION)
        # Each draws for itself, so that one who is missing shifts nobody else.
        order = self.agents.sort(lambda a: draw(a, "order").random(), ascending=True)
        order.do("step")
        self._collect()

    def get_state(self) -> dict[str, Any]:
        """The state of a town besides its memories; see ``mesa_memory.resume``."""
        return {
            "sources": {what: who.unique_id for what, who in self.sources.items()},
            "collected": self.datacollector.model_vars,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Takes up a ``get_state``."""
        people = {person.unique_id: person for person in self.agents}
        self.sources = {what: people[who] for what, who in state["sources"].items()}
        self.datacollector.model_vars = state["collected"]

    def knowing(self, what: str) -> int:
        """The number of people who know the rumour or the correction."""
        return sum(opinion.knows(what) for opinion in self.opinions.values())

    def believing(self, what: str) -> int:
        """The number of people who believe it."""
        return sum(opinion.belief == what for opinion in self.opinions.values())

    def _collect(self) -> None:
        self.opinions = {a.unique_id: a.opinion() for a in self.agents}
        self.datacollector.collect(self)

    def _town(self, n_agents: int, degree: int) -> Network:
        ties = min(degree, n_agents - 1)
        graph = nx.connected_watts_strogatz_graph(
            n_agents,
            ties,
            REWIRED,
            tries=1000,
            seed=int(draw(self, "town").integers(2**32)),
        )
        return Network(graph, capacity=1, random=self.random, layout=nx.circular_layout)


def _reporters() -> dict[str, Any]:
    return {
        "knows_rumour": lambda model: model.knowing(RUMOUR),
        "believes_rumour": lambda model: model.believing(RUMOUR),
        "knows_correction": lambda model: model.knowing(CORRECTION),
        "believes_correction": lambda model: model.believing(CORRECTION),
        "calls": metrics.calls,
        "tokens": metrics.tokens,
        "cost": metrics.cost,
    }
