from functools import partial

import mesa
import networkx as nx
from mesa.discrete_space import Network

from mesa_memory import *
from mesa_memory.examples.rumor import talk
from mesa_memory.examples.rumor.agents import NoMemory, Townsperson
from mesa_memory.examples.rumor.hearsay import CORRECTION, RUMOUR

K = {
    "short_term": ShortTermMemory,
    "stlt": STLTMemory,
    "long_term": LongTermMemory,
    "episodic": EpisodicMemory,
    "impression": ImpressionMemory,
    "none": NoMemory,
}


class RumorModel(mesa.Model):
    def __init__(
        self,
        n_agents=30,
        memory="stlt",
        llm="offline",
        correction_step=10,
        degree=4,
        api_base=None,
        execution=None,
        rng=None,
    ):
        super().__init__(rng=rng)
        self.correction_step = correction_step
        configure(self, llm="offline", execution=execution)
        name = register_policy("rumor", talk.say)
        g = nx.connected_watts_strogatz_graph(
            n_agents, degree, 0.1, seed=self.random.randrange(2**32)
        )
        self.grid = Network(
            g, capacity=1, random=self.random, layout=nx.circular_layout
        )
        for c in self.grid.all_cells:
            Townsperson(
                self,
                c,
                lambda a: K[memory](
                    a, **({} if memory == "none" else {"display": False})
                ),
                name,
                api_base,
            )
        self.opinions = {}
        dc = {}
        for w in (RUMOUR, CORRECTION):
            dc["knows_" + w] = partial(
                lambda m, w: sum(o.knows(w) for o in m.opinions.values()), w=w
            )
            dc["believes_" + w] = partial(
                lambda m, w: sum(o.belief == w for o in m.opinions.values()), w=w
            )
        self.datacollector = mesa.DataCollector(dc)

    def step(self):
        if self.steps == 1:
            self.random.choice(list(self.agents)).hear(RUMOUR)
        if self.steps == self.correction_step:
            self.random.choice(list(self.agents)).hear(CORRECTION)
        self.agents.shuffle_do("step")
        self.opinions = {a.unique_id: a.opinion() for a in self.agents}
        self.datacollector.collect(self)
