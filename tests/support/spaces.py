"""A model whose agents walk, in each kind of space that Mesa has."""

from typing import Any

import mesa
import networkx as nx
import numpy as np
from mesa.discrete_space import (
    CellAgent,
    HexGrid,
    Network,
    OrthogonalMooreGrid,
    VoronoiGrid,
)
from mesa.experimental.continuous_space import ContinuousSpace, ContinuousSpaceAgent
from mesa.space import ContinuousSpace as OldContinuousSpace
from mesa.space import MultiGrid, NetworkGrid

from mesa_memory import ShortTermMemory, configure

KINDS = (
    "moore", "hex", "network", "network without a layout", "voronoi", "continuous",
    "old grid", "old network", "old continuous",
)  # fmt: skip
EXPECTED = {"voronoi": "points", "moore": "grid", "hex": "grid", "old grid": "grid"}
SIZE, COUNT = 9, 5


class Floater(ContinuousSpaceAgent):
    """Lives in a continuous space of Mesa's experimental kind."""


class Walk(mesa.Model):
    """Agents that are somewhere else in each step, and remember that it rained."""

    def __init__(self, kind: str) -> None:
        super().__init__(rng=1)
        configure(self, llm="offline", record=True)
        self.kind = kind
        self.expected = EXPECTED.get(kind, kind.removeprefix("old ").split()[0])
        self.world = self._world()
        for _ in range(COUNT):
            agent = self._agent()
            agent.memory = ShortTermMemory(agent)
            self._move(agent, 0)

    def step(self) -> None:
        """Everybody walks."""
        for agent in self.agents:
            self._move(agent, self.steps)
            agent.memory.add_to_memory("observation", {"seen": "rain"})

    def place(self, agent: Any) -> Any:
        """Where an agent is, by Mesa's own words."""
        if "network" in self.kind:
            node = agent.pos if "old" in self.kind else agent.cell.coordinate
            if self.kind == "network":
                return agent.cell.position
            turn = 2 * np.pi * node / SIZE
            return np.cos(turn), np.sin(turn)
        if hasattr(agent, "cell"):
            return agent.cell.position
        return agent.pos if "old" in self.kind else agent.position

    def _world(self) -> Any:
        graph, random = nx.cycle_graph(SIZE), self.random
        made = {
            "moore": lambda: OrthogonalMooreGrid((SIZE, SIZE), random=random),
            "hex": lambda: HexGrid((SIZE + 1, SIZE + 1), random=random),
            "network": lambda: Network(graph, random=random, layout=nx.circular_layout),
            "network without a layout": lambda: Network(graph, random=random, layout=None),
            "voronoi": lambda: VoronoiGrid(
                [[n, n * n % 7] for n in range(SIZE)], random=random
            ),
            "continuous": lambda: ContinuousSpace([[0, SIZE], [0, SIZE]], random=random),
            "old grid": lambda: MultiGrid(SIZE, SIZE, torus=True),
            "old network": lambda: NetworkGrid(graph),
            "old continuous": lambda: OldContinuousSpace(SIZE, SIZE, torus=False),
        }  # fmt: skip
        return made[self.kind]()

    def _agent(self) -> Any:
        if self.kind == "continuous":
            return Floater(self.world, self)
        return mesa.Agent(self) if "old" in self.kind else CellAgent(self)

    def _move(self, agent: Any, step: int) -> None:
        number = (agent.unique_id * 2 + step) % SIZE
        if self.kind == "continuous":
            agent.position = (number + 0.25, SIZE - number - 0.5)
        elif self.kind == "old continuous":
            move = (
                self.world.place_agent if agent.pos is None else self.world.move_agent
            )
            move(agent, (number + 0.25, SIZE - number - 0.5))
        elif "old" in self.kind:
            to = number if "network" in self.kind else (number, SIZE - 1 - number)
            move = (
                self.world.place_agent if agent.pos is None else self.world.move_agent
            )
            move(agent, to)
        else:
            cells = list(self.world.all_cells)
            agent.cell = cells[number * 3 % len(cells)]


class Mixed(mesa.Model):
    """Two agents who remember that it rains, and, from step 3 on, one who does not."""

    def __init__(self, record: Any = True) -> None:
        super().__init__(rng=1)
        configure(self, llm="offline", record=record, outcomes=("mood",))
        self.grid = OrthogonalMooreGrid((4, 4), random=self.random)
        for place in range(2):
            agent = self.put(place)
            agent.memory = ShortTermMemory(agent)

    def put(self, place: int) -> Any:
        """Somebody new in a cell."""
        agent = CellAgent(self)
        agent.cell = self.grid[place, 3]
        agent.mood = None
        return agent

    def step(self) -> None:
        """It rains; on day 3 somebody comes."""
        for agent in list(self.agents)[:2]:
            agent.mood = "wet"
            agent.memory.add_to_memory("observation", {"seen": "rain"})
        if self.steps == 3:
            self.put(2)
