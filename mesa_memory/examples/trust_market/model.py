"""The market: who helps is seen, told, remembered, and pays or does not.

After "Evolution of indirect reciprocity by image scoring" (Nowak and Sigmund 1998): help
costs the giver and is worth more to the other, deeds are seen by some, and strategies
spread by what they earn. Other than there, traders meet their neighbours on a grid, an
image is what one remembers of a trader and not a number, and there are two strategies.
"""

from typing import Any

from mesa import DataCollector, Model
from mesa.discrete_space import OrthogonalMooreGrid

from mesa_memory import configure, register_policy
from mesa_memory.core.validate import checked_int
from mesa_memory.examples.trust_market import decision, memories
from mesa_memory.examples.trust_market.trader import COST, Trader
from mesa_memory.experiments import draw

#: chance that an heir has the other strategy
MUTATION = 0.01


class TrustMarket(Model):
    """Traders help each other, or do not.

    Args:
        n_agents: how many traders, at most the places of the grid.
        memory: everyone's memory by name; ``"none"`` remembers nothing.
        gossip: False: traders know what they have met with themselves, and no more.
        watching: chance that a neighbour sees a deed, 0 to 1.
        cheats: share of traders that never help, at first.
        season: days after which heirs take over, with strategies in proportion to what
            was earned; they have other names.
        side: of the square grid.
        llm: ``"offline"``, or ``"provider/model"``, which then decides for the fair.
        api_base: address of the provider, for self-hosted models.
        rng: seed.
        record, replay: see ``mesa_memory.configure``.

    Attributes:
        answers: whether each request of this season was granted.
        own_memories: the example's own memories by name.
    """

    own_memories = memories.OWN

    def __init__(
        self,
        n_agents: int = 30,
        memory: str = "short_term",
        gossip: bool = True,
        watching: float = 0.9,
        cheats: float = 0.4,
        season: int = 8,
        side: int = 6,
        llm: str = "offline",
        api_base: str | None = None,
        rng: Any = None,
        record: Any = None,
        replay: Any = None,
    ) -> None:
        super().__init__(rng=rng)
        checked_int("n_agents", n_agents, 2)
        self.gossip, self.watching = gossip, watching
        self.days = checked_int("season", season)
        offline = "offline" if llm == "offline" else None
        configure(self, llm=offline, record=record, replay=replay)
        if offline:
            llm = register_policy("trust", decision.reply)
        self.grid = OrthogonalMooreGrid(
            (side, side), torus=True, capacity=1, random=self.random
        )
        places = draw(self, "places").permutation(side * side)[:n_agents]
        order = draw(self, "cheats").permutation(n_agents)
        cells = list(self.grid.all_cells)
        for number, place in enumerate(places):
            fair = bool(order[number] >= round(cheats * n_agents))
            Trader(self, cells[place], memory, fair, llm, api_base)
        self.answers: list[bool] = []
        self.datacollector = DataCollector(
            {"cooperation": lambda m: m.cooperation, "fair": lambda m: m.fair}
        )

    @property
    def season(self) -> int:
        """The number of the season, from 0."""
        return max(0, int(self.steps) - 1) // self.days

    @property
    def cooperation(self) -> float:
        """The share of requests of this season that were granted."""
        return sum(self.answers) / len(self.answers) if self.answers else 0.0

    @property
    def fair(self) -> float:
        """The share of fair traders."""
        return sum(trader.fair for trader in self.agents) / len(self.agents)

    def step(self) -> None:
        """One day: all move, all are asked; heirs take over before a new season."""
        if self.steps > 1 and (self.steps - 1) % self.days == 0:
            self._inherit()
        order = self.agents.sort(lambda a: draw(a, "order").random(), ascending=True)
        order.do("move")
        order.do("meet")
        order.do(lambda trader: trader.memory.process_step())
        self.datacollector.collect(self)

    def _inherit(self) -> None:
        """Heirs take the places, with strategies in proportion to what was earned."""
        traders = sorted(self.agents, key=lambda a: a.unique_id)
        # Each began with what helping every day costs, so that nobody is in debt.
        worth = [trader.earned + COST * self.days for trader in traders]
        total = sum(worth)
        shares = [each / total for each in worth] if total else None
        chance = draw(self, "heirs")
        parents = chance.choice(len(traders), len(traders), p=shares)
        mutants = chance.random(len(traders)) < MUTATION
        fair = [
            traders[parent].fair != mutant for parent, mutant in zip(parents, mutants)
        ]
        for trader, inherited in zip(traders, fair):
            trader.fair, trader.earned = bool(inherited), 0
        self.answers = []

    def get_state(self) -> dict[str, Any]:
        """The state of the market besides its memories; see ``mesa_memory.resume``."""
        traders = [
            [a.unique_id, a.fair, a.earned, list(a.cell.coordinate)]
            for a in self.agents
        ]
        collected = self.datacollector.model_vars
        return {"traders": traders, "answers": self.answers, "collected": collected}

    def set_state(self, state: dict[str, Any]) -> None:
        """Takes up a ``get_state``."""
        traders = {trader.unique_id: trader for trader in self.agents}
        for trader in traders.values():
            trader.cell = None
        for name, fair, earned, place in state["traders"]:
            trader = traders[name]
            trader.fair, trader.earned = fair, earned
            trader.cell = self.grid[tuple(place)]
        self.answers = list(state["answers"])
        self.datacollector.model_vars = state["collected"]
