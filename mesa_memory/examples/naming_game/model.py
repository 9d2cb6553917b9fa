"""The game: in each round neighbours meet in pairs, and say a name at the same time.

After Mehdizadeh and Hilbert, "Exploring the Topology and Memory of Consensus" (arXiv
2606.04197, 2026). All chance has an address (``mesa_memory.experiments.draw``): with one
seed, players with different memories meet in the same pairs.
"""

from collections import Counter
from typing import Any

from mesa import Model

from mesa_memory import configure, register_policy
from mesa_memory.examples.naming_game import decision
from mesa_memory.examples.naming_game.networks import network as network_of
from mesa_memory.examples.naming_game.player import Player
from mesa_memory.experiments import draw


class NamingGame(Model):
    """Sixteen players try to agree on one of ten names.

    The game ends when all say the same name and remember no other one.

    Args:
        network: who are neighbours: one of ``networks.NETWORKS``.
        depth: how many of their own rounds the players remember, at least 1.
        llm: ``"offline"`` (best replies, no key), or ``"provider/model"``.
        api_base: address of the provider, for self-hosted models.
        rng: seed.
        record, replay: see ``mesa_memory.configure``.

    Attributes:
        counts: the number of names in use after each round.

    Raises:
        ValueError: for an unknown network, or a depth below 1.
    """

    def __init__(
        self,
        network: str = "max_mean_clustering",
        depth: int = 2,
        llm: str = "offline",
        api_base: str | None = None,
        rng: Any = None,
        record: Any = None,
        replay: Any = None,
    ) -> None:
        super().__init__(rng=rng)
        self.network = network_of(network)
        offline = "offline" if llm == "offline" else None
        configure(self, llm=offline, record=record, replay=replay)
        if offline:
            llm = register_policy("naming", decision.reply)
        self.players = [Player(self, depth, llm, api_base) for _ in self.network]
        self.counts: list[int] = []

    def step(self) -> None:
        """One round: pairs meet, both say a name, both remember it."""
        pairs = self._pairs()
        chosen = {player: player.choose() for pair in pairs for player in pair}
        for player, name in chosen.items():
            player.said = name
        for one, other in pairs:
            one.hear(chosen[other])
            other.hear(chosen[one])
        self.counts.append(self.names)
        if self.agreed and all(player.certain for player in self.players):
            self.running = False

    @property
    def names(self) -> int:
        """The number of names in use."""
        return len(self._in_use())

    @property
    def share(self) -> float:
        """The share of players that say the most used name, 0 to 1."""
        return max(self._in_use().values(), default=0) / len(self.players)

    @property
    def agreed(self) -> bool:
        """True if all players say the same name."""
        return self.share == 1

    @property
    def settled(self) -> int:
        """The last round in which the number of names in use changed; 0 if none."""
        pairs = enumerate(zip(self.counts, self.counts[1:]), 2)
        return max((step for step, (old, new) in pairs if old != new), default=0)

    def _pairs(self) -> list[tuple[Player, Player]]:
        """Neighbours in pairs, each player in at most one, as many as chance allows."""
        ties = sorted(self.network.edges)
        free, pairs = set(self.network), []
        for place in draw(self, "pairs").permutation(len(ties)):
            if free.issuperset(ties[place]):
                free.difference_update(ties[place])
                pairs.append(tuple(self.players[node] for node in ties[place]))
        return pairs

    def _in_use(self) -> Counter[str]:
        """The number of players that say each name."""
        return Counter(player.said for player in self.players if player.said)

    def get_state(self) -> dict[str, Any]:
        """The state of the game besides its memories; see ``mesa_memory.resume``."""
        return {"counts": self.counts, "said": [player.said for player in self.players]}

    def set_state(self, state: dict[str, Any]) -> None:
        """Takes up a ``get_state``."""
        self.counts = list(state["counts"])
        for player, said in zip(self.players, state["said"]):
            player.said = said
